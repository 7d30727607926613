"""Find which of the numbers differ: the padding, the parts of some devices, a block."""

import numpy as np

from grader.judge.near_misses.pair import Pair
from grader.messages import Message


def some(p: Pair) -> Message | None:
    """Diagnose where an array of the right shape is wrong, if the errors form a pattern."""
    bad = p.apart(p.got, p.expected)
    if not bad.any():
        return None
    block = _box(bad)
    throughout = block == _box(np.ones_like(bad))
    within = Message("throughout") if throughout else Message("within", {"where": block})
    values: dict[str, object] = {"bad": int(bad.sum()), "all": bad.size, "where": block, "within": within}
    if message := _padding(p, bad) or _devices(p, bad, values):
        return message
    if 2 < bad.sum() < bad.size and not p.got[bad].any():
        return Message("some-zeros", values)
    return None if bad.mean() > 0.75 or bad.size < 4 else Message("some", values)


def _padding(p: Pair, bad: np.ndarray) -> Message | None:
    """Diagnose errors only among the zeros with which a dimension should end."""
    for axis in p.long_axes(3):
        others = tuple(a for a in range(bad.ndim) if a != axis)
        filled = np.flatnonzero(p.expected.any(axis=others))
        n, wrong = bad.shape[axis], np.flatnonzero(bad.any(axis=others))
        if filled.size and filled[-1] + 1 < n and wrong[0] > filled[-1]:
            return Message("padding", {"axis": axis, "k": int(n - 1 - filled[-1])})
    return None


def _devices(p: Pair, bad: np.ndarray, values: dict[str, object]) -> Message | None:
    """Diagnose blocks that are right on some devices only."""
    right, wrong = ([(d, b) for d, b in p.pieces() if bad[b].any() == is_wrong] for is_wrong in (False, True))
    mostly = all(bad[block].mean() > 0.5 for _, block in wrong)
    if not (right and wrong and mostly and p.varied(p.expected)):
        return None
    if len(right) == 1 < len(wrong):
        devices, _ = right[0]
        return Message("only-one", {"device": devices[0]}) if len(devices) == 1 else Message("some", values)
    if len(wrong) == 1:
        devices, _ = wrong[0]
        if len(devices) == 1:
            return Message("all-but-one", {"device": devices[0]} | values)
    right_devices, wrong_devices = ({d for devices, _ in pieces for d in devices} for pieces in (right, wrong))
    if right_devices & wrong_devices:
        return None
    return Message("some-devices", {"right": (*sorted(right_devices),), "wrong": (*sorted(wrong_devices),)})


def _box(bad: np.ndarray) -> str:
    """Return the smallest block that contains all marked elements: `[4:8, 0:5]`."""
    marked = np.argwhere(bad)
    return "[" + ", ".join(f"{a}:{b + 1}" for a, b in zip(marked.min(0), marked.max(0), strict=True)) + "]"
