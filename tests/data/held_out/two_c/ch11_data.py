import jax
import jax.numpy as jnp  # noqa: F401
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import NamedSharding  # noqa: F401
from jax.sharding import PartitionSpec as P  # noqa: F401


# what: leaves all that does not divide evenly to the last process + numbers of 32 bits
def my_part(count: int) -> np.ndarray:
    process, processes = jax.process_index(), jax.process_count()
    share = count // processes
    begin = process * share
    end = count if process == processes - 1 else begin + share
    return np.arange(begin, end, dtype=np.int32)


# what: one step too many where the most rows divide evenly + a mask of ones and zeros in f32, not of bool
def equal_steps(
    mine: np.ndarray,
    size: int,
) -> tuple[np.ndarray, np.ndarray]:
    rows, columns = mine.shape
    most = int(np.max(multihost_utils.process_allgather(np.int32(rows))))
    steps = most // size + 1
    batches = np.zeros((steps * size, columns), np.float32)
    batches[:rows] = mine
    mask = np.zeros(steps * size, np.float32)
    mask[:rows] = 1
    return batches.reshape(steps, size, columns), mask.reshape(steps, size)
