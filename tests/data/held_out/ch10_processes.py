import numpy as np
from jax.experimental import multihost_utils


# what: Sets the processes' arrays side by side and thinks that a reshape then puts them one below the other.
def gather_for_all(mine: np.ndarray) -> np.ndarray:
    stacked = np.asarray(multihost_utils.process_allgather(mine, tiled=False))
    processes = stacked.shape[0]
    rows, columns = mine.shape
    beside = np.concatenate([stacked[p] for p in range(processes)], axis=1)
    return beside.reshape(processes * rows, columns)
