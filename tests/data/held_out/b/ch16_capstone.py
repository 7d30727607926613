import re

import jax
import numpy as np
from jax.experimental import multihost_utils


# what: Deals the batch out row by row, not in parts one after the other.
def next_rows(
    saved: dict[str, int], count: int, size: int, process: int, processes: int
) -> tuple[np.ndarray, dict[str, int]]:
    epoch, first = saved["epoch"], saved["next"]
    if first + size > count:
        epoch, first = epoch + 1, 0
    order = np.random.default_rng([16, epoch]).permutation(count)
    batch = order[first : first + size]
    after = {"epoch": epoch, "next": first + size}
    return batch[process::processes], after


# what: Stops only when every process has been told.
def stop_after(begun: int, told: bool) -> int:
    own = np.array([begun, told], np.int32)
    steps, tolds = multihost_utils.process_allgather(own).T
    return int(steps.max()) + 1 if tolds.all() else 0


# what: Matches the beginning of a name, whatever comes after the number.
def newest_whole(folder: dict[str, dict[str, int]]) -> int:
    newest = 0
    for name, files in folder.items():
        found = re.match(r"step-([0-9]+)", name)
        if not found or "expected" not in files:
            continue
        parts = sum(n for f, n in files.items() if f.startswith("part-"))
        if parts == files["expected"]:
            newest = max(newest, int(found[1]))
    return newest
