"""Which process makes the others wait?"""

import numpy as np
from jax.experimental import multihost_utils


def who_is_slow(own):
    """own: this process's seconds of work of its own, before the step.

    In a step all wait for the last, so all steps take equally long, and only
    what each did before tells them apart. Durations, not times of day: clocks
    differ. Returns a sentence, or "" where nobody is slow.
    """
    all_own = np.float32([own])
    all_own = multihost_utils.process_allgather(all_own, tiled=True)
    last = int(all_own.argmax())
    others = np.median(np.delete(all_own, last)) if len(all_own) > 1 else 1e9
    if all_own[last] > 2 * others + 0.02:  # a hiccup of the machine is less
        text = "process {} is slow: {:.3f} s of its own, the others {:.3f}"
        return text.format(last, all_own[last], others)
    return ""
