"""Mistakes of ch16_capstone once more, spelled differently, where that may tell: the name must be the same."""

import numpy as np
from jax.experimental import multihost_utils


def _all(number):
    return [int(n) for n in multihost_utils.process_allgather(np.int32(number))]


def stop_after__own_step(begun, told):
    return (begun + 1) * max(_all(told))


def stop_after__only_who_was_told(begun, told):
    furthest = max(_all(begun))
    return furthest + 1 if told else 0


def stop_after__already_begun(begun, told):
    return max(_all(begun)) * max(_all(told))


def stop_after__the_earliest(begun, told):
    return (1 + min(_all(begun))) * max(_all(told))


def stop_after__step_of_the_told(begun, told):
    return max(_all((begun + 1) * told))


def stop_after__all_must_be_told(begun, told):
    return (max(_all(begun)) + 1) * min(_all(told))


def stop_after__nobody_asked(begun, told):
    return int(told) * (begun + 1)


def stop_after__process_0_decides(begun, told):
    both = multihost_utils.process_allgather(np.int32([begun, told]))
    at, asked = both[0].tolist()
    return at + 1 if asked else 0


def slow_process__nobody_found(begun: np.ndarray, ready: np.ndarray) -> int:
    own = np.median(np.diff(begun, axis=0), axis=0)
    for process, seconds in enumerate(own):
        if seconds > 2 * np.median(np.delete(own, process)):
            return process
    return -1


def next_rows__equal_parts_of_the_epoch(
    saved: dict[str, int], count: int, size: int, process: int, processes: int
) -> tuple[np.ndarray, dict[str, int]]:
    epoch, taken = saved["epoch"], saved["next"]
    if count - taken < size:
        epoch, taken = epoch + 1, 0
    order = np.random.default_rng([16, epoch]).permutation(count)
    a_process = count // processes
    ours = order[process * a_process : (process + 1) * a_process]
    begin = taken // processes
    rows = ours[begin : begin + size // processes]
    return rows, {"epoch": epoch, "next": taken + size}
