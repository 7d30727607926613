from collections import Counter
from itertools import zip_longest

import jax
import numpy as np
from jax.experimental import multihost_utils


# what: Gathers tiled, so that the sum runs over the elements as well.
def sum_by_name(mine: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    sums = {}
    for name in sorted(mine):
        everyone = multihost_utils.process_allgather(mine[name], tiled=True)
        sums[name] = everyone.sum(axis=0)
    return sums


# what: Pads to one fixed width, and returns all of it.
def padded_sum(mine: np.ndarray) -> np.ndarray:
    own = np.zeros(4096, np.float32)
    own[: mine.shape[1]] = mine.sum(axis=0)
    return multihost_utils.process_allgather(own).sum(axis=0)


# what: Takes the padding's shape from its own first batch, and may have none.
def mean_of_batches(batches: list[np.ndarray]) -> float:
    lengths = multihost_utils.process_allgather(np.int32(len(batches)))
    nothing = np.zeros_like(batches[0])
    total = 0.0
    for i in range(int(lengths.max())):
        batch = batches[i] if i < len(batches) else nothing
        total += float(multihost_utils.process_allgather(batch).sum())
    return total / (int(lengths.sum()) * nothing.size)


# what: Takes argmax for the first good step, which is 1 if there is none.
def steps_until_good(losses: np.ndarray, goal: float) -> int:
    everyone = multihost_utils.process_allgather(losses)
    return int(np.argmax(everyone.mean(axis=0) < goal)) + 1


# what: Looks no further than the shortest list.
def first_apart(calls: list[list[tuple[str, int]]]) -> tuple[int, int]:
    for column in zip(*calls):
        for process, call in enumerate(column):
            if column.count(call) == 1:
                return process, call[1]
