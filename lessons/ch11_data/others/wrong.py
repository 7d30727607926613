"""Every known mistake of ch11_data once more, spelled differently: it must be given the same name."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def my_part__everything(count):
    return np.array(list(range(count)), int)


def my_part__rest_dropped(count):
    parts = np.arange(count - count % jax.process_count()).reshape(
        jax.process_count(), -1
    )
    return parts[jax.process_index()]


def my_part__rest_to_the_last(count):
    bounds = [
        p * (count // jax.process_count()) for p in range(jax.process_count())
    ] + [count]
    return np.arange(
        bounds[jax.process_index()], bounds[jax.process_index() + 1]
    )


def my_part__past_the_end(count):
    each = math.ceil(count / jax.process_count())
    mine = [jax.process_index() * each + k for k in range(each)]
    return np.array(mine, int)


def my_part__every_other(count):
    return np.arange(count)[jax.process_index() :: jax.process_count()]


def my_part__one_too_many(count):
    each, rest = divmod(count + 1, jax.process_count())
    first = jax.process_index() * each + min(jax.process_index(), rest)
    return np.arange(first, first + each + (jax.process_index() < rest))


def my_part__devices_for_processes(count):
    each, more = divmod(count, len(jax.devices()))
    me = jax.process_index()
    first = me * each + min(me, more)
    return np.arange(first, first + each + (me < more))


def my_part__rounded_up(count):
    size = math.ceil(count / jax.process_count())
    whole = np.arange(count)
    return whole[size * jax.process_index() :][:size]


def my_part__last_ones_larger(count):
    n = jax.process_count()
    begin = [k * count // n for k in range(n + 1)]
    return np.arange(*begin[jax.process_index() :][:2])


def _fill(rows, size, steps):
    batches = np.zeros((steps * size, rows.shape[1]), np.float32)
    rows = rows[: steps * size]
    batches[: len(rows)] = rows
    mask = np.zeros(steps * size, bool)
    mask[: len(rows)] = True
    return batches.reshape(steps, size, rows.shape[1]), mask.reshape(
        steps, size
    )


def _most(n, reduce):
    return int(
        reduce(np.asarray(multihost_utils.process_allgather(np.int32(n))))
    )


def _mean(n):
    return float(multihost_utils.process_allgather(np.int32(n)).mean())


def equal_steps__own_steps(mine, size):
    left = -len(mine) % size
    batches = np.concatenate(
        [mine, np.zeros((left, mine.shape[1]), np.float32)]
    )
    mask = np.arange(len(batches)) < len(mine)
    return batches.reshape(-1, size, mine.shape[1]), mask.reshape(-1, size)


def equal_steps__shortest(mine, size):
    return _fill(mine, size, _most(math.ceil(len(mine) / size), np.min))


def equal_steps__rounded_down(mine, size):
    return _fill(mine, size, _most(len(mine) // size, np.max))


def equal_steps__one_more(mine, size):
    return _fill(mine, size, 1 + _most(len(mine) // size, np.max))


def equal_steps__everybodys_rows(mine, size):
    return _fill(mine, size, math.ceil(_most(len(mine), np.sum) / size))


def equal_steps__average(mine, size):
    return _fill(mine, size, math.ceil(_mean(len(mine)) / size))


def equal_steps__padding_counted(mine, size):
    batches, _ = _fill(mine, size, _most(math.ceil(len(mine) / size), np.max))
    return batches, np.full(batches.shape[:2], True)


def equal_steps__zeros_are_padding(mine, size):
    rows, columns = mine.shape
    most = int(np.max(multihost_utils.process_allgather(np.int32(rows))))
    steps = -(-most // size)
    batches = np.zeros((steps * size, columns), np.float32)
    batches[:rows] = mine
    batches = batches.reshape(steps, size, columns)
    return batches, (batches != 0).any(axis=-1)


def equal_steps__dealt_over_the_steps(
    mine: np.ndarray,
    size: int,
) -> tuple[np.ndarray, np.ndarray]:
    rows = multihost_utils.process_allgather(np.int32(len(mine)))
    steps = -(-int(rows.max()) // size)
    batches = np.zeros((steps, size, mine.shape[1]), np.float32)
    mask = np.zeros((steps, size), bool)
    for k in range(steps):
        part = mine[k::steps]
        batches[k, : len(part)] = part
        mask[k, : len(part)] = True
    return batches, mask


def equal_steps__filled_evenly(mine, size):
    lengths = multihost_utils.process_allgather(np.int32(len(mine)))
    steps = -(-int(np.max(lengths)) // size)
    batches = np.zeros((steps, size, mine.shape[1]), mine.dtype)
    mask = np.zeros((steps, size), bool)
    if steps:
        for step, rows in enumerate(np.array_split(mine, steps)):
            batches[step, : len(rows)] = rows
            mask[step, : len(rows)] = True
    return batches, mask


def equal_steps__mask_inverted(mine, size):
    lengths = multihost_utils.process_allgather(np.int32(len(mine)))
    steps = -(-int(np.max(lengths)) // size)
    rows = np.zeros((steps * size, mine.shape[1]), mine.dtype)
    rows[: len(mine)] = mine
    padding = np.arange(steps * size) >= len(mine)
    return rows.reshape(steps, size, -1), padding.reshape(steps, size)


def _errors(w, rows):
    return jnp.square(rows[..., :3] @ w - rows[..., 3])


def _everyone(mine, size):
    mesh = Mesh(np.array(jax.devices()), ("all",))
    padded = np.pad(mine, ((0, size - len(mine)), (0, 0)))
    return jax.make_array_from_process_local_data(
        NamedSharding(mesh, P("all")), padded
    )


def mean_loss__own_rows(w, mine, size):
    return float(jnp.mean(_errors(w, jnp.asarray(mine))))


def mean_loss__mean_of_means(w, mine, size):
    own = jnp.full(jax.local_device_count(), jnp.mean(_errors(w, mine)))
    means = jax.pmap(lambda x: jax.lax.pmean(x, "i"), "i")(own)
    return float(means.addressable_shards[0].data[0])


def mean_loss__none_is_nan(w, mine, size):
    counts = multihost_utils.process_allgather(np.float32(len(mine)))
    own = jnp.mean(_errors(w, mine)) * (len(mine) / counts.sum())
    return float(multihost_utils.process_allgather(own).sum())


def mean_loss__padding_counted(w, mine, size):
    return float(
        jnp.sum(_errors(w, _everyone(mine, size)))
        / (size * jax.process_count())
    )


def mean_loss__zeros_are_padding(w, mine, size):
    @jax.jit
    def mean(w, rows):
        real = jnp.any(rows != 0, axis=1)
        return jnp.sum(jnp.where(real, _errors(w, rows), 0)) / jnp.sum(real)

    return float(mean(w, _everyone(mine, size)))


def mean_loss__sum(w, mine, size):
    total = np.asarray(jnp.sum(_errors(w, jnp.asarray(mine))))
    return float(multihost_utils.process_allgather(total).sum())


def mean_loss__device_put(w, mine, size):
    mesh = Mesh(np.array(jax.devices()), ("all",))
    padded = np.pad(mine, ((0, size - len(mine)), (0, 0)))
    rows = jax.device_put(padded, NamedSharding(mesh, P("all")))
    return float(jnp.mean(_errors(w, rows)))


def mean_loss__first_column(w, mine, size):
    errors = mine[:, 1:] @ w - mine[:, 0]
    own = np.array([errors @ errors, len(mine)], np.float32)
    total, count = multihost_utils.process_allgather(own).sum(axis=0)
    return float(total / count)


def mean_loss__absolute(w, mine, size):
    errors = np.sqrt(_errors(w, mine))
    own = np.array([errors.sum(), len(mine)], np.float32)
    total, count = multihost_utils.process_allgather(own).sum(axis=0)
    return float(total / count)


def mean_loss__not_squared(w, mine, size):
    both = np.float32([sum(row[:3] @ w - row[3] for row in mine), len(mine)])
    every = np.asarray(multihost_utils.process_allgather(both))
    return float(every[:, 0].sum() / every[:, 1].sum())


def mean_loss__own_count(w, mine, size):
    every = multihost_utils.process_allgather(
        np.float32([sum(map(float, _errors(w, mine)))])
    )
    return float(np.float32(np.sum(every)) / np.float32(len(mine)))


def mean_loss__every_pair(w: np.ndarray, mine: np.ndarray, size: int) -> float:
    wrong = mine[:, :3] @ w - mine[:, 3:]
    own = np.array([np.sum(wrong**2), wrong.size], np.float32)
    total, count = multihost_utils.process_allgather(own).sum(axis=0)
    return float(total / count)


def _placed(pieces, sharding):
    whole = np.vstack(pieces)
    index = sharding.addressable_devices_indices_map(whole.shape)
    mine = [
        jax.device_put(whole[block], device) for device, block in index.items()
    ]
    return jax.make_array_from_single_device_arrays(whole.shape, sharding, mine)


def _pieces(blocks):
    return [
        block
        for _, block in sorted(
            (int(name[5:]), block) for name, block in blocks.items()
        )
    ]


def restore__as_listed(blocks, sharding):
    return _placed([blocks[name] for name in blocks], sharding)


def restore__sorted_as_text(blocks, sharding):
    return _placed([block for _, block in sorted(blocks.items())], sharding)


def restore__joined_twice(blocks, sharding):
    whole = jnp.concatenate(_pieces(blocks))
    return jax.make_array_from_process_local_data(sharding, np.asarray(whole))


def restore__not_global(blocks, sharding):
    return np.vstack(_pieces(blocks))


def restore__everyone_has_all(blocks, sharding):
    return jax.device_put(
        np.vstack(_pieces(blocks)), NamedSharding(sharding.mesh, P(None))
    )


def restore__own_rows(blocks, sharding):
    names = sorted(blocks, key=lambda name: int(name.split("-")[1]))
    whole = np.concatenate([blocks[name] for name in names])
    each = len(whole) // jax.process_count()
    first = jax.process_index() * each
    return jax.make_array_from_process_local_data(
        sharding, whole[first : first + each]
    )
