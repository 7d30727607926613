from collections import Counter

import jax  # noqa: F401
import numpy as np
from jax.experimental import multihost_utils


# what: Thinks that it is enough to go by the shapes, since only arrays of different shapes get mixed up; names with the same shape keep the order of the dict.
def sum_by_name(mine: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    order = sorted(mine, key=lambda name: mine[name].shape)
    result = {}
    for name in order:
        stacked = multihost_utils.process_allgather(mine[name])
        result[name] = np.sum(stacked, axis=0)
    return {name: result[name] for name in mine}


# what: Lets process 0 decide the common width, so what other processes have beyond it is cut off.
def padded_sum(mine: np.ndarray) -> np.ndarray:
    own = mine.sum(axis=0)
    width = int(multihost_utils.broadcast_one_to_all(np.int32(own.shape[0])))
    fitted = np.zeros((width,), dtype=own.dtype)
    common = min(width, own.shape[0])
    fitted[:common] = own[:common]
    return np.asarray(multihost_utils.process_allgather(fitted)).sum(axis=0)


# what: So that nobody waits, all stop after the batches of the process with the fewest; the other batches are left out of the mean.
def mean_of_batches(batches: list[np.ndarray]) -> float:
    counts = multihost_utils.process_allgather(np.int32(len(batches)))
    rounds = int(np.min(counts))
    total, count = 0.0, 0
    for batch in batches[:rounds]:
        everyone = np.asarray(multihost_utils.process_allgather(batch))
        total += float(everyone.sum())
        count += everyone.size
    return total / max(count, 1)


# what: Stops only when every process's own loss is below the goal, as if that were the same as the mean being below it.
def steps_until_good(losses: np.ndarray, goal: float) -> int:
    made = 0
    for loss in losses:
        everyone = np.asarray(
            multihost_utils.process_allgather(np.float32(loss))
        )
        made += 1
        if bool((everyone < goal).all()):
            break
    return made


# what: Takes a list that ends before the others for the one that parts from them, and blames the last call in it.
def first_apart(calls: list[list[tuple[str, int]]]) -> tuple[int, int]:
    longest = max(len(own) for own in calls)
    for place in range(longest):
        row = [own[place] if place < len(own) else None for own in calls]
        usual, _ = Counter(row).most_common(1)[0]
        for process, call in enumerate(row):
            if call == usual:
                continue
            if call is None:
                own = calls[process]
                return process, own[-1][1] if own else 0
            return process, call[1]
    return 0, calls[0][-1][1]


# what: Reads a stack as in a Python traceback, the most recent call last, and so takes the outermost frame in incident.py for the innermost.
def who_is_missing(
    stacks: list[list[tuple[str, int, str]]],
) -> tuple[int, int] | None:
    def waits(stack):
        return any(
            file == "progress.py" or file.startswith("jax/")
            for file, _, _ in stack
        )

    for process, stack in enumerate(stacks):
        if waits(stack):
            continue
        here = [line for file, line, _ in stack if file == "incident.py"]
        if here:
            return process, here[-1]
    return None
