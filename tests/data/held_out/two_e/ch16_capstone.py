import re

import jax
import numpy as np
from jax.experimental import multihost_utils


# what: (1) the last rows of an epoch are kept: the batch is filled up with the first of the next epoch + (2) processes take the rows of a batch in turn.
def next_rows(
    saved: dict[str, int], count: int, size: int, process: int, processes: int
) -> tuple[np.ndarray, dict[str, int]]:
    def order(epoch):
        return np.random.default_rng([16, epoch]).permutation(count)

    epoch, taken = saved["epoch"], saved["next"]
    batch = order(epoch)[taken : taken + size]
    taken += len(batch)
    if len(batch) < size:
        epoch, taken = epoch + 1, size - len(batch)
        batch = np.concatenate([batch, order(epoch)[:taken]])
    return batch[process::processes], {"epoch": epoch, "next": taken}


# what: (1) more bytes than expected do no harm + (2) whatever begins with "step-" and a number is a checkpoint, with something after the number, too.
def newest_whole(folder: dict[str, dict[str, int]]) -> int:
    best = 0
    for name, files in folder.items():
        found = re.match(r"step-([0-9]+)", name)
        if not found or "expected" not in files:
            continue
        size = sum(n for file, n in files.items() if file.startswith("part-"))
        if size >= files["expected"]:
            best = max(best, int(found.group(1)))
    return best
