"""Known wrong answers of ch11_data, as code; words.toml explains them."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def my_part__everything(count):
    return np.arange(count)


def my_part__rest_dropped(count):
    each = count // jax.process_count()
    return np.arange(each) + jax.process_index() * each


def my_part__rest_to_the_last(count):
    each = count // jax.process_count()
    first = jax.process_index() * each
    last = jax.process_index() == jax.process_count() - 1
    return np.arange(first, count if last else first + each)


def my_part__past_the_end(count):
    each = -(-count // jax.process_count())
    return np.arange(each) + jax.process_index() * each


def my_part__every_other(count):
    return np.arange(jax.process_index(), count, jax.process_count())


def my_part__one_too_many(count):
    part = np.array_split(np.arange(count + 1), jax.process_count())
    return part[jax.process_index()]


def my_part__devices_for_processes(count):
    parts = np.array_split(np.arange(count), jax.device_count())
    return parts[jax.process_index()]


def my_part__rounded_up(count):
    each = -(-count // jax.process_count())
    first = jax.process_index() * each
    return np.arange(min(first, count), min(first + each, count))


def my_part__last_ones_larger(count):
    me, n = jax.process_index(), jax.process_count()
    return np.arange(me * count // n, (me + 1) * count // n)


def _cut(mine, size, steps):
    mask = np.arange(steps * size).reshape(steps, size) < len(mine)
    batches = np.zeros((steps, size, mine.shape[1]), mine.dtype)
    batches[mask] = mine[: steps * size]
    return batches, mask


def _rows(mine):
    return multihost_utils.process_allgather(np.array([len(mine)]), tiled=True)


def equal_steps__own_steps(mine, size):
    return _cut(mine, size, -(-len(mine) // size))


def equal_steps__shortest(mine, size):
    return _cut(mine, size, -(-int(_rows(mine).min()) // size))


def equal_steps__rounded_down(mine, size):
    return _cut(mine, size, int(_rows(mine).max()) // size)


def equal_steps__one_more(mine, size):
    return _cut(mine, size, int(_rows(mine).max()) // size + 1)


def equal_steps__everybodys_rows(mine, size):
    return _cut(mine, size, -(-int(_rows(mine).sum()) // size))


def equal_steps__average(mine, size):
    rows = _rows(mine)
    return _cut(mine, size, -(-int(rows.sum()) // (size * len(rows))))


def equal_steps__padding_counted(mine, size):
    batches, mask = _cut(mine, size, -(-int(_rows(mine).max()) // size))
    return batches, np.ones_like(mask)


def equal_steps__mask_inverted(mine, size):
    batches, mask = _cut(mine, size, -(-int(_rows(mine).max()) // size))
    return batches, ~mask


def equal_steps__zeros_are_padding(mine, size):
    batches, mask = _cut(mine, size, -(-int(_rows(mine).max()) // size))
    return batches, batches.any(axis=-1)


def equal_steps__dealt_over_the_steps(mine, size):
    steps = -(-int(_rows(mine).max()) // size)
    batches = np.zeros((steps, size, mine.shape[1]), mine.dtype)
    mask = np.zeros((steps, size), bool)
    for step in range(steps):
        rows = mine[step::steps]
        batches[step, : len(rows)], mask[step, : len(rows)] = rows, True
    return batches, mask


def equal_steps__filled_evenly(mine, size):
    steps = -(-int(_rows(mine).max()) // size)
    each, more = divmod(len(mine), steps)
    batches = np.zeros((steps, size, mine.shape[1]), mine.dtype)
    mask = np.arange(size) < (each + (np.arange(steps) < more))[:, None]
    batches[mask] = mine
    return batches, mask


def _squares(w, rows):
    return (rows[:, :3] @ w - rows[:, 3]) ** 2


def _global(mine, size):
    padded = np.zeros((size, 4), np.float32)
    padded[: len(mine)] = mine
    mesh = jax.make_mesh((jax.device_count(),), ("i",))
    cut = NamedSharding(mesh, P("i"))
    mask = np.arange(size) < len(mine)
    return jax.make_array_from_process_local_data(cut, (padded, mask))


def mean_loss__own_rows(w, mine, size):
    return float(_squares(w, mine).mean())


def mean_loss__mean_of_means(w, mine, size):
    own = np.array([_squares(w, mine).mean()])
    return float(multihost_utils.process_allgather(own, tiled=True).mean())


def mean_loss__none_is_nan(w, mine, size):
    own = np.array([_squares(w, mine).mean() * len(mine), len(mine)])
    total, count = multihost_utils.process_allgather(own).sum(axis=0)
    return float(total / count)


def mean_loss__padding_counted(w, mine, size):
    x, _ = _global(mine, size)
    return float(_squares(w, x).mean())


def mean_loss__zeros_are_padding(w, mine, size):
    rows, _ = _global(mine, size)
    real = (rows != 0).any(axis=1)
    total = jnp.where(real, _squares(w, rows), 0).sum()
    return float(total / real.sum())


def mean_loss__sum(w, mine, size):
    x, mask = _global(mine, size)
    return float(jnp.sum(_squares(w, x), where=mask))


def mean_loss__device_put(w, mine, size):
    padded = np.zeros((size, 4), np.float32)
    padded[: len(mine)] = mine
    mesh = jax.make_mesh((jax.device_count(),), ("i",))
    x = jax.device_put(padded, NamedSharding(mesh, P("i")))
    return float(_squares(w, x).mean())


def mean_loss__first_column(w, mine, size):
    x, mask = _global(mine, size)
    squares = (x[:, 1:] @ w - x[:, 0]) ** 2
    return float(jnp.sum(squares, where=mask) / jnp.sum(mask))


def mean_loss__absolute(w, mine, size):
    x, mask = _global(mine, size)
    errors = abs(x[:, :3] @ w - x[:, 3])
    return float(jnp.sum(errors, where=mask) / jnp.sum(mask))


def mean_loss__not_squared(w, mine, size):
    apart = mine[:, :3] @ w - mine[:, 3]
    own = np.array([apart.sum(), len(mine)])
    total, count = multihost_utils.process_allgather(own).sum(axis=0)
    return float(total / count)


def mean_loss__own_count(w, mine, size):
    own = np.array(_squares(w, mine).sum())
    return float(multihost_utils.process_allgather(own).sum() / len(mine))


def mean_loss__every_pair(w, mine, size):
    wrong = mine[:, :3] @ w - mine[:, 3:]
    own = np.array([(wrong**2).sum(), wrong.size])
    total, count = multihost_utils.process_allgather(own).sum(axis=0)
    return float(total / count)


def _global_array(whole, sharding):
    return jax.make_array_from_callback(
        whole.shape, sharding, lambda index: whole[index]
    )


def _first(name):
    return int(name.removeprefix("rows-"))


def _whole(blocks):
    return np.concatenate([blocks[name] for name in sorted(blocks, key=_first)])


def restore__as_listed(blocks, sharding):
    return _global_array(np.concatenate(list(blocks.values())), sharding)


def restore__sorted_as_text(blocks, sharding):
    whole = np.concatenate([blocks[name] for name in sorted(blocks)])
    return _global_array(whole, sharding)


def restore__joined_twice(blocks, sharding):
    return jax.make_array_from_process_local_data(sharding, _whole(blocks))


def restore__not_global(blocks, sharding):
    return _whole(blocks)


def restore__everyone_has_all(blocks, sharding):
    return _global_array(_whole(blocks), NamedSharding(sharding.mesh, P()))


def restore__own_rows(blocks, sharding):
    parts = np.array_split(_whole(blocks), jax.process_count())
    mine = parts[jax.process_index()]
    return jax.make_array_from_process_local_data(sharding, mine)
