from collections import Counter
from itertools import zip_longest

import jax
import numpy as np
from jax.experimental import multihost_utils


# what: Process 0's width is everyone's + np.resize repeats, adds no zeros.
def padded_sum(mine: np.ndarray) -> np.ndarray:
    own = mine.sum(axis=0)
    width = int(multihost_utils.broadcast_one_to_all(np.int32(len(own))))
    return multihost_utils.process_allgather(np.resize(own, width)).sum(axis=0)


# what: Averages the processes' means + no batches count as a mean of 0.
def mean_of_batches(batches: list[np.ndarray]) -> float:
    own = np.float32(np.mean(batches) if batches else 0)
    return float(multihost_utils.process_allgather(own).mean())


# what: Goes on until each single loss is below + counts steps from 0.
def steps_until_good(losses: np.ndarray, goal: float) -> int:
    for step, loss in enumerate(losses):
        everyone = multihost_utils.process_allgather(np.float32(loss))
        if (everyone < goal).all():
            return step
    return len(losses)


# what: Takes process 0 for right + looks no further than the shortest list.
def first_apart(calls: list[list[tuple[str, int]]]) -> tuple[int, int]:
    for first, *others in zip(*calls):
        for process, call in enumerate(others, 1):
            if call != first:
                return process, call[1]


# what: Only the innermost frame tells who waits + its line, whatever file.
def who_is_missing(
    stacks: list[list[tuple[str, int, str]]],
) -> tuple[int, int] | None:
    for process, stack in enumerate(stacks):
        file, line, _ = stack[0]
        if file != "progress.py" and not file.startswith("jax/"):
            return process, line
    return None
