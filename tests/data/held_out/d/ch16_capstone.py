import re

import jax
import numpy as np
from jax.experimental import multihost_utils


# what: where no further batch is left, the checkpoint already names the next epoch
def next_rows(
    saved: dict[str, int], count: int, size: int, process: int, processes: int
) -> tuple[np.ndarray, dict[str, int]]:
    epoch, begin = saved["epoch"], saved["next"]
    if begin + size > count:
        epoch, begin = epoch + 1, 0
    order = np.random.default_rng([16, epoch]).permutation(count)
    share = size // processes
    mine = begin + process * share
    rows = order[mine : mine + share]
    epoch_after, taken = epoch, begin + size
    if taken + size > count:
        epoch_after, taken = epoch + 1, 0
    return rows, {"epoch": epoch_after, "next": taken}


# what: only those who were told take part in the choice of the step
def stop_after(begun: int, told: bool) -> int:
    everyone = multihost_utils.process_allgather(np.array([begun, int(told)], np.int32))
    steps = [int(step) for step, was_told in everyone if was_told]
    return max(steps) + 1 if steps else 0


# what: compares a process with the median of all, itself included
def slow_process(begun: np.ndarray, ready: np.ndarray) -> int:
    typical = np.median(ready - begun, axis=0)
    slow = np.flatnonzero(typical > 2 * np.median(typical))
    return int(slow[0]) if len(slow) else -1
