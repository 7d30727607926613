import jax  # noqa: F401
import numpy as np
from jax.experimental import multihost_utils


# what: orders the parameters by their size, which leaves those of equal size in the order of the dict
def sum_by_name(mine: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    sums = {}
    for name in sorted(mine, key=lambda name: mine[name].size):
        everyone = multihost_utils.process_allgather(mine[name])
        sums[name] = everyone.sum(axis=0)
    return sums


# what: pads in front, so that positions of different processes do not meet
def padded_sum(mine: np.ndarray) -> np.ndarray:
    longest = int(np.max(multihost_utils.process_allgather(np.int32(mine.shape[1]))))
    own = np.pad(mine.sum(axis=0), (longest - mine.shape[1], 0))
    return multihost_utils.process_allgather(own).sum(axis=0)


# what: fills up missing batches with zeros, and counts their numbers, too
def mean_of_batches(batches: list[np.ndarray]) -> float:
    length = len(batches[0]) if batches else 0
    sizes = multihost_utils.process_allgather(np.array([len(batches), length]))
    most, n = (int(v) for v in sizes.max(axis=0))
    own = np.zeros((most, n), np.float32)
    for i, batch in enumerate(batches):
        own[i] = batch
    return float(multihost_utils.process_allgather(own).mean())


# what: stops when each process's loss is below the goal, not when their mean is
def steps_until_good(losses: np.ndarray, goal: float) -> int:
    for step, loss in enumerate(losses, 1):
        everyone = multihost_utils.process_allgather(np.float32(loss))
        if (everyone < goal).all():
            return step
    return len(losses)
