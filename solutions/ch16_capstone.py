"""Solutions of ch16_capstone."""

import re

import numpy as np
from jax.experimental import multihost_utils


def next_rows(
    saved: dict[str, int], count: int, size: int, process: int, processes: int
) -> tuple[np.ndarray, dict[str, int]]:
    epoch, first = saved["epoch"], saved["next"]
    if first + size > count:
        epoch, first = epoch + 1, 0
    order = np.random.default_rng([16, epoch]).permutation(count)
    batch = order[first : first + size]
    rows = np.split(batch, processes)[process]
    return rows, {"epoch": epoch, "next": first + size}


def stop_after(begun: int, told: bool) -> int:
    mine = np.array([[begun, told]])
    everyone = multihost_utils.process_allgather(mine, tiled=True)
    steps, any_told = everyone.max(axis=0)
    return int(steps) + 1 if any_told else 0


def newest_whole(folder: dict[str, dict[str, int]]) -> int:
    whole = [0]
    for name, files in folder.items():
        parts = sum(n for file, n in files.items() if file.startswith("part-"))
        if re.fullmatch(r"step-\d+", name) and files.get("expected") == parts:
            whole.append(int(name.removeprefix("step-")))
    return max(whole)


def slow_process(begun: np.ndarray, ready: np.ndarray) -> int:
    own = np.median(ready - begun, axis=0)  # one clock: it may be wrong
    slowest = int(own.argmax())
    others = np.median(np.delete(own, slowest))
    return slowest if own[slowest] > 2 * others else -1
