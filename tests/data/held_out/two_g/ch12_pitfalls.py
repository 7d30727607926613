import jax  # noqa: F401
import numpy as np
from jax.experimental import multihost_utils


# what: (1) believes that the size tells the parameters apart, so that sorting by it gives one order everywhere + (2) believes that gradients of several processes are always to be averaged.
def sum_by_name(mine: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    combined = {}
    for name, gradient in sorted(mine.items(), key=lambda item: len(item[1])):
        stacked = np.asarray(multihost_utils.process_allgather(gradient))
        combined[name] = stacked.mean(axis=0)
    return combined


# what: (1) fills up with batches of zeros and counts them as if they were real + (2) believes that halving old mean plus new value is a running mean.
def mean_of_batches(batches: list[np.ndarray]) -> float:
    counts = multihost_utils.process_allgather(np.int32(len(batches)))
    steps = int(np.max(counts))
    running = None
    for i in range(steps):
        own = float(np.mean(batches[i])) if i < len(batches) else 0.0
        together = np.asarray(multihost_utils.process_allgather(np.float32(own)))
        now = float(together.mean())
        running = now if running is None else (running + now) / 2
    return float(running)


# what: (1) takes process 0 for the one that is right + (2) believes that the name alone tells two calls apart, and leaves the line out.
def first_apart(calls: list[list[tuple[str, int]]]) -> tuple[int, int]:
    for place, (name, _) in enumerate(calls[0]):
        for process in range(1, len(calls)):
            theirs = calls[process]
            if place < len(theirs) and theirs[place][0] != name:
                return process, theirs[place][1]
    furthest = max(range(len(calls)), key=lambda p: len(calls[p]))
    return furthest, calls[furthest][-1][1]
