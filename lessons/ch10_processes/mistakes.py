"""Known wrong answers of ch10_processes, as code; words.toml explains them."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def _facts(**changes):
    facts = {
        "process": jax.process_index(),
        "processes": jax.process_count(),
        "mine": sorted(d.id for d in jax.local_devices()),
        "everyone": jax.device_count(),
    }
    return facts | changes


def who_am_i__all_are_mine():
    return _facts(mine=sorted(d.id for d in jax.devices()))


def who_am_i__local_count():
    return _facts(everyone=jax.local_device_count())


def who_am_i__ids_counted():
    first = jax.process_index() * jax.local_device_count()
    return _facts(mine=list(range(first, first + jax.local_device_count())))


def who_am_i__from_one():
    return _facts(process=jax.process_index() + 1)


def who_am_i__devices_for_processes():
    return _facts(processes=jax.device_count())


def who_am_i__two_processes_assumed():
    return _facts(everyone=2 * jax.local_device_count())


def who_am_i__numbers_on_the_host():
    return _facts(mine=sorted(d.local_hardware_id for d in jax.local_devices()))


def who_am_i__times_the_processes():
    return _facts(everyone=jax.device_count() * jax.process_count())


def _everyone(mine):
    mesh = jax.make_mesh((jax.device_count(),), ("i",))
    return jax.make_array_from_process_local_data(
        NamedSharding(mesh, P("i")), mine
    )


def global_sum__own_only(mine):
    return float(mine.sum())


def global_sum__from_process_0(mine):
    return float(multihost_utils.broadcast_one_to_all(mine).sum())


def global_sum__once_per_device(mine):
    def f(x):
        return jax.lax.psum(x, "i")

    sums = jnp.full(jax.local_device_count(), mine.sum())
    return float(jax.pmap(f, axis_name="i")(sums).addressable_shards[0].data[0])


def global_sum__mean(mine):
    return float(_everyone(mine).mean())


def global_sum__only_process_0(mine):
    if jax.process_index() == 0:
        return float(_everyone(mine).sum())
    return None


def global_sum__device_put(mine):
    mesh = jax.make_mesh((jax.device_count(),), ("i",))
    return float(jax.device_put(mine, NamedSharding(mesh, P("i"))).sum())


def global_sum__fetched(mine):
    return float(np.asarray(_everyone(mine)).sum())


def global_sum__array(mine):
    return _everyone(mine).sum()


def global_sum__own_times_processes(mine):
    return float(mine.sum()) * jax.process_count()


def print_mean__everyone(xs):
    print(f"mean {float(xs.mean()):.4f}")


def print_mean__inside_the_if(xs):
    if jax.process_index() == 0:
        print(f"mean {float(xs.mean()):.4f}")


def print_mean__own_part(xs):
    mine = np.concatenate([s.data for s in xs.addressable_shards])
    if jax.process_index() == 0:
        print(f"mean {mine.mean():.4f}")


def print_mean__fetched(xs):
    mean = np.asarray(xs).mean()
    if jax.process_index() == 0:
        print(f"mean {mean:.4f}")


def print_mean__last_process(xs):
    mean = float(xs.mean())
    if jax.process_index() == jax.process_count() - 1:
        print(f"mean {mean:.4f}")


def print_mean__unformatted(xs):
    mean = float(xs.mean())
    if jax.process_index() == 0:
        print("mean", round(mean, 4))


def gather_for_all__only_process_0(mine):
    if jax.process_index() == 0:
        return multihost_utils.process_allgather(mine, tiled=True)
    return mine


def gather_for_all__not_tiled(mine):
    return multihost_utils.process_allgather(mine)


def gather_for_all__broadcast(mine):
    first = multihost_utils.broadcast_one_to_all(mine)
    return np.concatenate([first] * jax.process_count())


def gather_for_all__own_twice(mine):
    return np.concatenate([mine] * jax.process_count())


def gather_for_all__own_first(mine):
    rows = np.asarray(multihost_utils.process_allgather(mine, tiled=True))
    return np.roll(rows, -jax.process_index() * len(mine), axis=0)


def gather_for_all__global_array(mine):
    return _everyone(mine)


def gather_for_all__side_by_side(mine):
    rows = multihost_utils.process_allgather(mine, tiled=True)
    return np.concatenate(
        np.split(np.asarray(rows), jax.process_count()), axis=1
    )
