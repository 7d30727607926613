import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils


# what: Sets the processes' arrays side by side and thinks that a reshape then puts them one below the other.
def gather_for_all(mine: np.ndarray) -> np.ndarray:
    stacked = np.asarray(multihost_utils.process_allgather(mine, tiled=False))
    processes = stacked.shape[0]
    rows, columns = mine.shape
    beside = np.concatenate([stacked[p] for p in range(processes)], axis=1)
    return beside.reshape(processes * rows, columns)


# what: Works the ids out from the process's number + counts local devices.
def who_am_i() -> dict[str, object]:
    me, n = jax.process_index(), jax.local_device_count()
    return {
        "process": me,
        "processes": jax.process_count(),
        "mine": list(range(me * n, (me + 1) * n)),
        "everyone": n,
    }


# what: (1) believes that addressable_data(0) is the whole array, where it is the part of one device + (2) believes that the launcher shows only the output of process 0, so lets every process print.
def print_mean(xs: jax.Array) -> None:
    values = np.asarray(xs.addressable_data(0), dtype=np.float64)
    line = "mean {:.4f}".format(values.mean())
    print(line, flush=True)


# what: Calls the process's own numbers replicated + returns a global array.
def global_sum(mine: np.ndarray) -> float:
    mesh = jax.make_mesh((jax.device_count(),), ("i",))
    copies = jax.NamedSharding(mesh, jax.P())
    xs = jax.make_array_from_process_local_data(copies, mine)
    return jnp.sum(xs)
