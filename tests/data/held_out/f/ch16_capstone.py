import re

import jax  # noqa: F401
import numpy as np
from jax.experimental import multihost_utils


# what: Thinks the process that was told decides on the step, so that only the steps of processes that were told count.
def stop_after(begun: int, told: bool) -> int:
    pairs = multihost_utils.process_allgather(
        np.array([int(told), begun], dtype=np.int32)
    )
    pairs = np.asarray(pairs).reshape(-1, 2)
    told_at = pairs[pairs[:, 0] > 0, 1]
    if told_at.size == 0:
        return 0
    return int(told_at.max()) + 1


# what: Thinks a name that begins like a checkpoint's is one, so that "step-40.tmp" counts as step 40 if its bytes are all there.
def newest_whole(folder: dict[str, dict[str, int]]) -> int:
    pattern = re.compile(r"step-([1-9][0-9]*)")
    newest = 0
    for name, files in folder.items():
        found = pattern.match(name)
        if found is None or "expected" not in files:
            continue
        held = sum(b for file, b in files.items() if file.startswith("part-"))
        if held == files["expected"]:
            newest = max(newest, int(found.group(1)))
    return newest


# what: Thinks a process may be compared with the median of all processes, itself included.
def slow_process(begun: np.ndarray, ready: np.ndarray) -> int:
    typical = np.median(np.asarray(ready) - np.asarray(begun), axis=0)
    usual = np.median(typical)
    slowest = int(np.argmax(typical))
    return slowest if typical[slowest] > 2 * usual else -1
