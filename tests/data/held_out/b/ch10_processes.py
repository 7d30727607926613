import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils


# what: Lists the devices themselves, not their ids.
def who_am_i() -> dict[str, object]:
    return {
        "process": jax.process_index(),
        "processes": jax.process_count(),
        "mine": sorted(jax.local_devices(), key=lambda d: d.id),
        "everyone": jax.device_count(),
    }


# what: Hands back the sum as a global array on all processes' devices.
def global_sum(mine: np.ndarray) -> float:
    mesh = jax.make_mesh((jax.device_count(),), ("i",))
    cut = jax.NamedSharding(mesh, jax.P("i"))
    return jnp.sum(jax.make_array_from_process_local_data(cut, mine))


# what: Rounds to four decimals, which prints fewer where zeros end it.
def print_mean(xs: jax.Array) -> None:
    mean = float(jnp.mean(xs))
    if jax.process_index() == 0:
        print("mean", round(mean, 4))


# what: Takes one global array for gathered: no process can read all of it.
def gather_for_all(mine: np.ndarray) -> np.ndarray:
    shape = jax.process_count(), jax.local_device_count()
    mesh = jax.make_mesh(shape, ("process", "local"))
    rows = jax.NamedSharding(mesh, jax.P("process"))
    return jax.make_array_from_process_local_data(rows, mine)
