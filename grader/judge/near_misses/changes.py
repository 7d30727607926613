"""Diagnose numbers whose error an argument explains, or that do not depend on the arguments."""

from collections.abc import Sequence

import numpy as np

from grader.judge.compare import difference
from grader.judge.near_misses.pair import Pair
from grader.messages import Message
from grader.see.array_values import size
from grader.see.values import Float, Int, Value

TELLING = 64  # a whole number up to here may come back from every call by accident


def kept(got: Sequence[Value | None], right: Sequence[Value | None], tolerance: float) -> Message | None:
    """Diagnose calls that all returned what only the first one should: kept from it, or written for it.

    got, right  the value of each case in one process, in the order of the calls
    """
    first = got[0]
    if first is None or right[0] is None or not _telling(first):
        return None
    others = [r for r in right[1:] if r is not None and difference(first, r, tolerance)]
    if difference(first, right[0], tolerance) or len(others) < (1 if size(first) > 4 else 2):
        return None
    same = all(x is not None and difference(x, first, 0.0) is None for x in got[1:])
    return Message("kept") if same else None


def _telling(x: Value) -> bool:
    """Return whether a value is more specific than a small number, a name or a flag."""
    if isinstance(x, Float | Int):
        return x.number % 1 != 0 or abs(x.number) > TELLING
    return size(x) > 2


def change(p: Pair) -> Message | None:
    """Diagnose a small change to an argument that is right up to a factor."""
    for n, path, before in p.setting.given:
        if before.shape != p.expected.shape or before.size < 2:
            continue
        mine, right = p.got - before, p.expected - before
        size = float(np.vdot(right, right).real)
        c = float(np.vdot(right, mine).real) / size if size else 0.0
        if abs(c) < 1e-6 or not np.allclose(mine, c * right, rtol=1e-3, atol=1e-4 * float(np.abs(right).max())):
            continue
        if c < 0:
            return Message("change-back", {"n": n, "path": path})
        if f"{c:.3g}" != "1":  # else it is rounded otherwise, and there is no factor to be told
            return Message("change-times", {"n": n, "path": path, "c": f"{c:.3g}"})
    return None


def term(p: Pair) -> Message | None:
    """Diagnose an argument that was not added, or was added although it should not be."""
    d = p.got - p.expected
    for n, path, x in p.setting.given:
        if x.size < 2 or not p.varied(x) or x.ndim > d.ndim or x.shape != d.shape[d.ndim - x.ndim :]:
            continue
        for key, sign in (("term-missing", -1), ("term-added", 1)):
            if p.like(d, np.broadcast_to(sign * x, d.shape)):
                return Message(key, {"n": n, "path": path})
    return None


STRONG = [change, term]
