import re

import jax
import numpy as np
from jax.experimental import multihost_utils


# what: Goes on to the next epoch as soon as no full batch is left in this one.
def next_rows(
    saved: dict[str, int], count: int, size: int, process: int, processes: int
) -> tuple[np.ndarray, dict[str, int]]:
    epoch, first = saved["epoch"], saved["next"]
    if first + size > count:
        epoch, first = epoch + 1, 0
    order = np.random.default_rng([16, epoch]).permutation(count)
    part = size // processes
    start = first + process * part
    after = {"epoch": epoch, "next": first + size}
    if after["next"] + size > count:
        after = {"epoch": epoch + 1, "next": 0}
    return order[start : start + part], after


# what: Asks only those who were told how far they are.
def stop_after(begun: int, told: bool) -> int:
    own = np.int32(begun + 1 if told else 0)
    return int(multihost_utils.process_allgather(own).max())


# what: Counts every file but "expected" as a part.
def newest_whole(folder: dict[str, dict[str, int]]) -> int:
    newest = 0
    for name, files in folder.items():
        found = re.fullmatch(r"step-([0-9]+)", name)
        if not found or "expected" not in files:
            continue
        parts = sum(n for file, n in files.items() if file != "expected")
        if parts == files["expected"]:
            newest = max(newest, int(found[1]))
    return newest


# what: Compares a process with the median of all, itself among them.
def slow_process(begun: np.ndarray, ready: np.ndarray) -> int:
    own = np.median(ready - begun, axis=0)
    last = int(own.argmax())
    return last if own[last] > 2 * np.median(own) else -1
