"""Answers of several processes beside one another."""

from typing import Any

import numpy as np

from grader.judge.near_misses.pair import Saying, Setting, numbers, pair
from grader.judge.near_misses.shapes import COMBINATIONS
from grader.judge.near_misses.trees import part_at
from grader.see.compare import difference


def joined(seen: list[Any], right: list[Any], path: str, place: int, tolerance: float) -> Saying | None:
    """Each process answered for itself: together they would be right. Or one has what another should have.

    seen, right  one case in each process; path: where in the tree; place: the process meant
    """
    if len(seen) < 2:
        return None
    got, expected = ([part_at(case.get("value"), path) for case in x] for x in (seen, right))
    if any(x is None or "parts" in x for x in (*got, *expected)):
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
                return "processes-combine", {"how": (how, {})}
        if arrays[0].ndim and both.like(np.concatenate(arrays), both.expected):
            return "processes-join", {}
        return None
    other = [n for n, x in enumerate(expected) if n != place and difference(got[place], x, tolerance) is None]
    return ("of-process", {"process": place, "other": other[0]}) if other else None


def apart(seen: list[Any], right: list[Any], path: str, tolerance: float) -> Saying | None:
    """The processes disagree where they should agree, or some are right."""
    if len(seen) < 2:
        return None
    got, expected = ([part_at(case.get("value"), path) for case in x] for x in (seen, right))
    if any(x is None for x in (*got, *expected)):
        return None
    fine = [n for n, (a, b) in enumerate(zip(got, expected, strict=True)) if difference(a, b, tolerance) is None]
    if fine:
        return "right-in", {"processes": ", ".join(map(str, fine))}
    alike = all(difference(x, expected[0], tolerance) is None for x in expected)
    if alike and any(difference(x, got[0], tolerance) for x in got):
        return "processes-differ", {}
    return None
