import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils


# what: Works the ids out from the process's number + counts local devices.
def who_am_i() -> dict[str, object]:
    me, n = jax.process_index(), jax.local_device_count()
    return {
        "process": me,
        "processes": jax.process_count(),
        "mine": list(range(me * n, (me + 1) * n)),
        "everyone": n,
    }


# what: Calls the process's own numbers replicated + returns a global array.
def global_sum(mine: np.ndarray) -> float:
    mesh = jax.make_mesh((jax.device_count(),), ("i",))
    copies = jax.NamedSharding(mesh, jax.P())
    xs = jax.make_array_from_process_local_data(copies, mine)
    return jnp.sum(xs)


# what: Every process prints + four significant digits, not four decimals.
def print_mean(xs: jax.Array) -> None:
    print(f"mean {float(jnp.mean(xs)):.4}")


# what: Stacks, with a dimension for processes + only process 0 gets it all.
def gather_for_all(mine: np.ndarray) -> np.ndarray:
    everyone = multihost_utils.process_allgather(mine)
    return everyone if jax.process_index() == 0 else mine
