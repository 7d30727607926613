from collections import Counter
from itertools import zip_longest

import jax  # noqa: F401
import numpy as np
from jax.experimental import multihost_utils


# what: JAX is believed to keep the order of a dict; its leaves come sorted by name, so they are put under the wrong names.
def sum_by_name(mine: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    sums = []
    for leaf in jax.tree.leaves(mine):
        everyone = multihost_utils.process_allgather(leaf)
        sums.append(np.asarray(everyone).sum(axis=0))
    return dict(zip(mine, sums))


# what: it is believed to be enough that all agree on one width, so process 0's is taken, and longer rows are cut off.
def padded_sum(mine: np.ndarray) -> np.ndarray:
    width = mine.shape[1]
    agreed = int(multihost_utils.broadcast_one_to_all(np.int32(width)))
    total = np.zeros(agreed, np.float32)
    kept = min(width, agreed)
    total[:kept] = mine.sum(axis=0)[:kept]
    everyone = multihost_utils.process_allgather(total)
    return np.asarray(everyone).sum(axis=0)


# what: a batch of zeros from the process that has run out is believed not to change the mean, but it is counted.
def mean_of_batches(batches: list[np.ndarray]) -> float:
    width = batches[0].size if batches else 0
    facts = np.asarray(
        multihost_utils.process_allgather(np.array([len(batches), width], np.int32))
    )
    steps, width = (int(v) for v in facts.max(axis=0))
    total, count = 0.0, 0
    for step in range(steps):
        if step < len(batches):
            batch = batches[step]
        else:
            batch = np.zeros(width, np.float32)
        everyone = np.asarray(multihost_utils.process_allgather(batch))
        total += float(everyone.sum())
        count += everyone.size
    return total / count


# what: agreeing is believed to mean that every process must be below the goal, instead of their mean.
def steps_until_good(losses: np.ndarray, goal: float) -> int:
    for step, loss in enumerate(losses, 1):
        everyone = multihost_utils.process_allgather(np.float32(loss))
        if np.all(np.asarray(everyone) < goal):
            return step
    return len(losses)


# what: the process whose list ends first is believed to be the one that has parted from the others.
def first_apart(calls: list[list[tuple[str, int]]]) -> tuple[int, int]:
    for row in zip_longest(*calls):
        usual, _ = Counter(row).most_common(1)[0]
        for process, call in enumerate(row):
            if call != usual:
                if call is None:
                    call = calls[process][-1] if calls[process] else usual
                return process, call[1]
    return 0, calls[0][-1][1]


# what: the frames are read like a Python traceback, so the last "incident.py" frame is believed to be the innermost.
def who_is_missing(
    stacks: list[list[tuple[str, int, str]]],
) -> tuple[int, int] | None:
    for process, frames in enumerate(stacks):
        files = [file for file, _, _ in frames]
        if any(f == "progress.py" or f.startswith("jax/") for f in files):
            continue
        lines = [line for file, line, _ in frames if file == "incident.py"]
        if lines:
            return process, lines[-1]
    return None
