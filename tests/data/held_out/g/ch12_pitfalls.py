from collections import Counter

import jax
import numpy as np
from jax.experimental import multihost_utils


# what: Believes that sorting the parameters by size gives every process the same order, though parameters of equal size stay in the order of the dict.
def sum_by_name(mine: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    order = sorted(mine, key=lambda name: mine[name].size)
    sums = {}
    for name in order:
        everyone = multihost_utils.process_allgather(mine[name])
        sums[name] = np.asarray(everyone).sum(axis=0)
    return {name: sums[name] for name in mine}


# what: Believes that the arrays must be padded to a multiple of 128, and that the padding may stay in the result.
def padded_sum(mine: np.ndarray) -> np.ndarray:
    widths = multihost_utils.process_allgather(np.int32(mine.shape[1]))
    longest = int(np.max(widths))
    width = -(-longest // 128) * 128
    own = np.zeros(width, np.float32)
    own[: mine.shape[1]] = mine.sum(axis=0)
    return np.asarray(multihost_utils.process_allgather(own)).sum(axis=0)


# what: Believes that the mean of the processes' means is the mean of all, though they have unequally many batches.
def mean_of_batches(batches: list[np.ndarray]) -> float:
    if batches:
        mine = np.array([np.mean(np.stack(batches)), 1.0], np.float32)
    else:
        mine = np.zeros(2, np.float32)
    everyone = np.asarray(multihost_utils.process_allgather(mine))
    present = everyone[:, 1] > 0
    return float(everyone[present, 0].mean())


# what: Believes that training is good only when every process's own loss is below the goal, instead of their mean.
def steps_until_good(losses: np.ndarray, goal: float) -> int:
    for step, loss in enumerate(losses, 1):
        everyone = np.asarray(multihost_utils.process_allgather(np.float32(loss)))
        good = [float(value) < goal for value in everyone.ravel()]
        if all(good):
            return step
    return len(losses)


# what: Believes that the lists can be compared only as far as the shortest one goes, and that otherwise the process that got least far is to blame.
def first_apart(calls: list[list[tuple[str, int]]]) -> tuple[int, int]:
    for together in zip(*calls):
        usual, _ = Counter(together).most_common(1)[0]
        for process, call in enumerate(together):
            if call != usual:
                return process, call[1]
    shortest = min(range(len(calls)), key=lambda p: len(calls[p]))
    line = calls[shortest][-1][1] if calls[shortest] else 0
    return shortest, line


# what: Reads the stack like a Python traceback, with the most recent call last, so takes the outermost frame in incident.py.
def who_is_missing(
    stacks: list[list[tuple[str, int, str]]],
) -> tuple[int, int] | None:
    def waits(stack):
        return any(
            file == "progress.py" or file.startswith("jax/") for file, _, _ in stack
        )

    for process, stack in enumerate(stacks):
        if waits(stack):
            continue
        own = [line for file, line, _ in stack if file == "incident.py"]
        return process, own[-1]
    return None
