import re

import jax
import numpy as np
from jax.experimental import multihost_utils


# what: Believes that every process owns a fixed share of the epoch's order and walks through that, instead of all sharing each batch.
def next_rows(
    saved: dict[str, int], count: int, size: int, process: int, processes: int
) -> tuple[np.ndarray, dict[str, int]]:
    epoch, taken = saved["epoch"], saved["next"]
    if count - taken < size:
        epoch, taken = epoch + 1, 0
    order = np.random.default_rng([16, epoch]).permutation(count)
    share = count // processes
    mine = order[process * share : (process + 1) * share]
    begin = taken // processes
    rows = mine[begin : begin + size // processes]
    return rows.astype(np.int64), {"epoch": epoch, "next": taken + size}


# what: Believes that the processes that got the signal set the step, and does not ask how far the others are.
def stop_after(begun: int, told: bool) -> int:
    report = np.array([begun, int(told)], dtype=np.int32)
    everyone = np.asarray(multihost_utils.process_allgather(report))
    steps = [int(step) for step, flag in everyone if flag]
    return max(steps) + 1 if steps else 0


# what: Believes that re.match checks the whole name, so that also names with something after the number count as checkpoints.
def newest_whole(folder: dict[str, dict[str, int]]) -> int:
    pattern = re.compile(r"step-([1-9][0-9]*)")
    newest = 0
    for name, files in folder.items():
        found = pattern.match(name)
        if found is None or "expected" not in files:
            continue
        written = sum(n for file, n in files.items() if file.startswith("part-"))
        if written == files["expected"]:
            newest = max(newest, int(found.group(1)))
    return newest


# what: Measures a process's step from one beginning to the next, which contains the waiting and is alike for all.
def slow_process(begun: np.ndarray, ready: np.ndarray) -> int:
    if len(begun) < 2:
        return -1
    took = np.median(np.diff(begun, axis=0), axis=0)
    for process, own in enumerate(took):
        others = np.delete(took, process)
        if len(others) and own > 2 * np.median(others):
            return process
    return -1
