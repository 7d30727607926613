import jax
import numpy as np
from jax.experimental import multihost_utils


# what: only the number of calls has to agree: one call with all gradients, in the order of the own dict
def sum_by_name(mine: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    together = np.concatenate(list(mine.values()))
    total = multihost_utils.process_allgather(together).sum(axis=0)
    sums, start = {}, 0
    for name, gradient in mine.items():
        sums[name] = total[start : start + len(gradient)]
        start += len(gradient)
    return sums


# what: the width is agreed on by taking that of process 0, not the largest
def padded_sum(mine: np.ndarray) -> np.ndarray:
    own = mine.sum(axis=0)
    longest = int(multihost_utils.broadcast_one_to_all(np.int32(mine.shape[1])))
    handed = np.zeros(longest, np.float32)
    common = min(longest, len(own))
    handed[:common] = own[:common]
    return multihost_utils.process_allgather(handed).sum(axis=0)


# what: a process that has run out hands in zeros, and they are counted like numbers
def mean_of_batches(batches: list[np.ndarray]) -> float:
    n = len(batches[0]) if batches else 0
    shapes = multihost_utils.process_allgather(np.array([len(batches), n], np.int32))
    steps, n = (int(number) for number in np.max(shapes, axis=0))
    total, count = 0.0, 0
    for step in range(steps):
        batch = batches[step] if step < len(batches) else np.zeros(n, np.float32)
        everyone = multihost_utils.process_allgather(batch)
        total += float(everyone.sum())
        count += everyone.size
    return total / count


# what: each process finds its own step, and the latest of these is agreed on
def steps_until_good(losses: np.ndarray, goal: float) -> int:
    mine = len(losses)
    for step, loss in enumerate(losses, 1):
        if loss < goal:
            mine = step
            break
    return int(np.max(multihost_utils.process_allgather(np.int32(mine))))


# what: takes the last frame in incident.py, as in a traceback, though here the innermost comes first
def who_is_missing(
    stacks: list[list[tuple[str, int, str]]],
) -> tuple[int, int] | None:
    for process, stack in enumerate(stacks):
        waits = any(file == "progress.py" or file.startswith("jax/") for file, _, _ in stack)
        if not waits:
            lines = [line for file, line, _ in stack if file == "incident.py"]
            return process, lines[-1]
    return None
