import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils


# what: Reads everything off the global list of devices.
def who_am_i() -> dict[str, object]:
    everyone = jax.devices()
    me = jax.local_devices()[0].process_index
    return {
        "process": me,
        "processes": len({d.process_index for d in everyone}),
        "mine": sorted(d.id for d in everyone if d.process_index == me),
        "everyone": len(everyone),
    }


# what: Gathers all numbers on every host and adds them up in NumPy.
def global_sum(mine: np.ndarray) -> float:
    everyone = multihost_utils.process_allgather(mine)
    return float(np.sum(everyone, dtype=np.float64))


# what: Gathers the array in every process, and takes the mean in NumPy.
def print_mean(xs: jax.Array) -> None:
    whole = multihost_utils.process_allgather(xs, tiled=True)
    if jax.process_index() == 0:
        print("mean {:.4f}".format(np.mean(whole, dtype=np.float64)))


# what: A mesh of processes by local devices, and reshard, no multihost_utils.
def gather_for_all(mine: np.ndarray) -> np.ndarray:
    n = jax.process_count()
    devices = sorted(jax.devices(), key=lambda d: (d.process_index, d.id))
    mesh = jax.make_mesh(
        (n, len(devices) // n),
        ("process", "local"),
        axis_types=(jax.sharding.AxisType.Explicit,) * 2,
        devices=devices,
    )
    shape = n * mine.shape[0], mine.shape[1]
    cut = jax.NamedSharding(mesh, jax.P("process"))
    xs = jax.make_array_from_process_local_data(cut, mine, shape)
    whole = jax.reshard(xs, jax.NamedSharding(mesh, jax.P()))
    return np.asarray(whole.addressable_data(0))
