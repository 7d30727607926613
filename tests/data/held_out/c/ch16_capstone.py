import re

import jax  # noqa: F401
import numpy as np
from jax.experimental import multihost_utils


# what: begins the next epoch already when exactly one batch is left
def next_rows(
    saved: dict[str, int], count: int, size: int, process: int, processes: int
) -> tuple[np.ndarray, dict[str, int]]:
    epoch, begin = saved["epoch"], saved["next"]
    if begin + size >= count:
        epoch, begin = epoch + 1, 0
    order = np.random.default_rng([16, epoch]).permutation(count)
    part = size // processes
    first = begin + process * part
    return order[first : first + part], {"epoch": epoch, "next": begin + size}


# what: takes the step of the process that was told, though another one may be further
def stop_after(begun: int, told: bool) -> int:
    everyone = multihost_utils.process_allgather(np.array([begun, int(told)], np.int32))
    steps = [int(step) for step, was_told in everyone if was_told]
    return max(steps) + 1 if steps else 0


# what: looks only at how a name begins, and so takes "step-12.tmp" for the checkpoint of step 12
def newest_whole(folder: dict[str, dict[str, int]]) -> int:
    newest = 0
    for name, files in folder.items():
        match = re.match(r"step-(\d+)", name)
        if not match or "expected" not in files:
            continue
        held = sum(size for file, size in files.items() if file.startswith("part-"))
        if held == files["expected"]:
            newest = max(newest, int(match[1]))
    return newest


# what: compares with the median of all processes, the process itself among them
def slow_process(begun: np.ndarray, ready: np.ndarray) -> int:
    medians = np.median(ready - begun, axis=0)
    typical = np.median(medians)
    slow = np.flatnonzero(medians > 2 * typical)
    return int(slow[0]) if len(slow) else -1
