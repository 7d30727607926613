import jax  # noqa: F401
import numpy as np
from jax.experimental import multihost_utils  # noqa: F401


# what: deals the batch's rows out in turn, not in consecutive parts + saves the beginning of the next epoch once all rows are taken
def next_rows(
    saved: dict[str, int], count: int, size: int, process: int, processes: int
) -> tuple[np.ndarray, dict[str, int]]:
    epoch, begin = saved["epoch"], saved["next"]
    if begin + size > count:
        epoch, begin = epoch + 1, 0
    order = np.random.default_rng([16, epoch]).permutation(count)
    rows = order[begin : begin + size][process::processes]
    end = begin + size
    if end == count:
        epoch, end = epoch + 1, 0
    return rows, {"epoch": epoch, "next": end}


# what: compares means over the steps, which a single long step drives up + calls also slow what takes just twice as long
def slow_process(begun: np.ndarray, ready: np.ndarray) -> int:
    taken = (ready - begun).mean(axis=0)
    for process in range(len(taken)):
        if taken[process] >= 2 * np.median(np.delete(taken, process)):
            return process
    return -1
