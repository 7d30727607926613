"""Answers of several processes beside one another."""

from collections.abc import Sequence

import numpy as np

from grader.judge.compare import difference
from grader.judge.near_misses.pair import Setting, numbers, pair
from grader.judge.near_misses.shapes import COMBINATIONS
from grader.judge.near_misses.trees import part_at
from grader.messages import Message
from grader.see.array_values import Array
from grader.see.observation import Observation
from grader.see.values import Value

Cases = Sequence[Observation]  # one case, in each process


def joined(seen: Cases, right: Cases, path: str, place: int, tolerance: float) -> Message | None:
    """Each process answered for itself: together they would be right. Or one has what another should have.

    seen, right  one case in each process; path: where in the tree; place: the process meant
    """
    if len(seen) < 2:
        return None
    got, expected = (_parts(x, path) for x in (seen, right))
    if got is None or expected is None or any(isinstance(x, Array) and x.partial for x in (*got, *expected)):
        return None
    mine = [numbers([x]) for x in got]
    both = pair([expected[place]], [expected[place]], 0, tolerance, Setting(1))
    if both is None or any(x is None or (x.dtype.kind == "c" and both.expected.dtype.kind != "c") for x in mine):
        return None
    arrays = [np.asarray(x, both.expected.dtype) for x in mine]
    if all(difference(x, expected[0], tolerance) is None for x in expected):
        same = all(difference(x, got[0], tolerance) is None for x in got)
        if same or len({x.shape for x in arrays}) > 1:
            return None
        for how in ("sum", "mean"):
            if both.like(COMBINATIONS[how](arrays, axis=0), both.expected):
                return Message("processes-combine", {"how": Message(how)})
        if arrays[0].ndim and both.like(np.concatenate(arrays), both.expected):
            return Message("processes-join")
        return None
    other = [n for n in range(len(right)) if n != place and _returned(seen[place], right[n], tolerance)]
    return Message("of-process", {"process": place, "other": other[0]}) if other else None


def _returned(case: Observation, right: Observation, tolerance: float) -> bool:
    """Whether all that came back is what was to come: one part of it may be so by accident."""
    return bool(case.value and right.value and difference(case.value, right.value, tolerance) is None)


def apart(seen: Cases, right: Cases, path: str, tolerance: float) -> Message | None:
    """The processes disagree where they should agree, or some are right."""
    if len(seen) < 2:
        return None
    got, expected = (_parts(x, path) for x in (seen, right))
    if got is None or expected is None:
        return None
    fine = [n for n, (a, b) in enumerate(zip(got, expected, strict=True)) if difference(a, b, tolerance) is None]
    if fine:
        return Message("right-in", {"processes": (*fine,)})
    alike = all(difference(x, expected[0], tolerance) is None for x in expected)
    if alike and any(difference(x, got[0], tolerance) for x in got):
        return Message("processes-differ")
    return None


def _parts(seen: Cases, path: str) -> list[Value] | None:
    """The part of the value that every process has at this path; None where one has none."""
    parts = [part_at(case.value, path) for case in seen]
    found = [part for part in parts if part is not None]
    return found if len(found) == len(parts) else None
