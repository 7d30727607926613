"""Every known mistake of ch10_processes once more, spelled differently: it must be given the same name."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def _who(process=None, processes=None, mine=None, everyone=None):
    return {
        "process": jax.process_index() if process is None else process,
        "processes": processes or jax.process_count(),
        "mine": mine or [d.id for d in jax.local_devices()],
        "everyone": everyone or len(jax.devices()),
    }


def who_am_i__all_are_mine():
    return _who(mine=[d.id for d in jax.devices()])


def who_am_i__local_count():
    return _who(everyone=len(jax.local_devices()))


def who_am_i__ids_counted():
    n = jax.local_device_count()
    return _who(mine=[jax.process_index() * n + k for k in range(n)])


def who_am_i__from_one():
    return _who(process=1 + jax.local_devices()[0].process_index)


def who_am_i__devices_for_processes():
    return _who(processes=len(jax.devices()))


def who_am_i__two_processes_assumed():
    return _who(everyone=len(jax.local_devices()) * 2)


def who_am_i__numbers_on_the_host() -> dict[str, object]:
    return {
        "process": jax.process_index(),
        "processes": jax.process_count(),
        "mine": sorted(d.local_hardware_id for d in jax.local_devices()),
        "everyone": jax.device_count(),
    }


def who_am_i__times_the_processes():
    return {
        "process": jax.process_index(),
        "processes": jax.process_count(),
        "mine": sorted(d.id for d in jax.local_devices()),
        "everyone": jax.process_count() * jax.device_count(),
    }


def _whole(mine):
    mesh = Mesh(np.array(jax.devices()), ("all",))
    return jax.make_array_from_process_local_data(
        NamedSharding(mesh, P("all")), mine
    )


def global_sum__own_only(mine):
    return float(jnp.sum(mine))


def global_sum__once_per_device(mine):
    rows = np.tile(mine, jax.local_device_count())
    return float(_whole(rows).sum())


def global_sum__mean(mine):
    return float(np.mean(multihost_utils.process_allgather(mine)))


def global_sum__only_process_0(mine):
    if jax.process_index() != 0:
        return None
    parts = jnp.asarray(mine).reshape(jax.local_device_count(), -1)
    return float(
        jax.pmap(lambda x: jax.lax.psum(x.sum(), "i"), "i")(parts)
        .addressable_shards[0]
        .data[0]
    )


def global_sum__device_put(mine):
    mesh = Mesh(np.array(jax.devices()), ("i",))
    return float(
        jnp.sum(jax.device_put(jnp.asarray(mine), NamedSharding(mesh, P("i"))))
    )


def global_sum__fetched(mine):
    return float(np.sum(np.array(_whole(mine))))


def global_sum__array(mine):
    return jax.jit(jnp.sum)(_whole(mine))


def global_sum__own_times_processes(mine):
    return sum(float(mine.sum()) for _ in range(jax.process_count()))


def global_sum__from_process_0(mine):
    return float(np.sum(multihost_utils.process_allgather(mine)[0]))


def print_mean__everyone(xs):
    print("mean", format(float(jnp.mean(xs)), ".4f"))


def print_mean__inside_the_if(xs):
    if not jax.process_index():
        mean = float(jax.jit(jnp.mean)(xs))
        print(f"mean {mean:.4f}")


def print_mean__own_part(xs):
    means = [float(np.mean(s.data)) for s in xs.addressable_shards]
    if jax.process_index() == 0:
        print(f"mean {sum(means) / len(means):.4f}")


def print_mean__fetched(xs):
    numbers = np.array(xs)
    if jax.process_index() == 0:
        print(f"mean {numbers.mean():.4f}")


def print_mean__last_process(xs):
    mean = float(jnp.mean(xs))
    if jax.process_index() == 1:
        print(f"mean {mean:.4f}")


def print_mean__unformatted(xs):
    mean = np.round(float(xs.mean()), 4)
    if not jax.process_index():
        print(f"mean {mean}")


def gather_for_all__only_process_0(mine):
    if jax.process_index():
        return mine
    return np.concatenate(list(multihost_utils.process_allgather(mine)))


def gather_for_all__not_tiled(mine):
    return np.stack(list(multihost_utils.process_allgather(mine)))[
        :, None
    ].reshape(jax.process_count(), *mine.shape)


def gather_for_all__broadcast(mine):
    return np.tile(
        np.asarray(multihost_utils.broadcast_one_to_all(mine)),
        (jax.process_count(), 1),
    )


def gather_for_all__own_twice(mine):
    return np.tile(mine, (jax.process_count(), 1))


def gather_for_all__own_first(mine):
    everybody = np.asarray(multihost_utils.process_allgather(mine))
    others = [
        rows for i, rows in enumerate(everybody) if i != jax.process_index()
    ]
    return np.concatenate([mine, *others])


def gather_for_all__global_array(mine):
    return _whole(mine) * 1


def gather_for_all__side_by_side(mine):
    return np.hstack(list(np.asarray(multihost_utils.process_allgather(mine))))
