import re

import jax
import numpy as np
from jax.experimental import multihost_utils


# what: the batch as a table with a line for each process
def next_rows(
    saved: dict[str, int], count: int, size: int, process: int, processes: int
) -> tuple[np.ndarray, dict[str, int]]:
    rolls_over = count - saved["next"] < size
    epoch = saved["epoch"] + rolls_over
    taken = 0 if rolls_over else saved["next"]
    order = np.random.default_rng([16, epoch]).permutation(count)
    table = np.reshape(order[taken : taken + size], (processes, -1))
    return table[process].astype(np.int64), {"epoch": epoch, "next": taken + size}


# what: one maximum over pairs; the flag multiplies the step
def stop_after(begun: int, told: bool) -> int:
    pair = np.array([begun + 1, bool(told)], dtype=np.int32)
    first, anyone = multihost_utils.process_allgather(pair).max(axis=0)
    return int(first) * int(anyone)


# what: a generator of whole checkpoints' steps and a max with a default
def newest_whole(folder: dict[str, dict[str, int]]) -> int:
    def whole(files):
        parts = (n for file, n in files.items() if file.startswith("part-"))
        return files.get("expected") == sum(parts)

    return max(
        (int(name[5:]) for name, files in folder.items() if re.fullmatch("step-[0-9]+", name) and whole(files)),
        default=0,
    )


# what: no loop: a square of medians with its own diagonal blanked out, and a nanmedian
def slow_process(begun: np.ndarray, ready: np.ndarray) -> int:
    typical = np.median(np.subtract(ready, begun), axis=0)
    n = len(typical)
    if n < 2:
        return -1
    square = np.where(np.eye(n, dtype=bool), np.nan, typical)
    slow = typical > 2 * np.nanmedian(square, axis=1)
    return int(slow.argmax()) if slow.any() else -1
