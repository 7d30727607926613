"""Compare the answers of several processes."""

from collections.abc import Sequence

from grader.judge.compare import difference
from grader.judge.near_misses.trees import part_at
from grader.messages import Message
from grader.see.array_values import Array
from grader.see.observation import Observation
from grader.see.values import Value

Cases = Sequence[Observation]  # one case, in each process


def of_another(answers: Cases, right: Cases, path: str, place: int, tolerance: float) -> Message | None:
    """Diagnose a process that returned what a different one should, if they should not return the same.

    answers, right  one case in each process; path: the place in the tree; place: the process in question
    """
    if len(answers) < 2 or not (expected := _parts(right, path)) or not (got := _parts(answers, path)):
        return None
    if any(isinstance(x, Array) and x.partial for x in (*got, *expected)):
        return None
    if all(difference(x, expected[0], tolerance) is None for x in expected):
        return None
    other = [n for n in range(len(right)) if n != place and _returned(answers[place], right[n], tolerance)]
    return Message("of-process", {"process": place, "other": other[0]}) if other else None


def _returned(case: Observation, right: Observation, tolerance: float) -> bool:
    """Return whether the whole result is the expected one: a part of it may be right by accident."""
    return bool(case.value and right.value and difference(case.value, right.value, tolerance) is None)


def apart(answers: Cases, right: Cases, path: str, tolerance: float) -> Message | None:
    """Diagnose processes that disagree although they should agree, or of which only some are right."""
    if len(answers) < 2:
        return None
    got, expected = (_parts(x, path) for x in (answers, right))
    if got is None or expected is None:
        return None
    fine = [n for n, (a, b) in enumerate(zip(got, expected, strict=True)) if difference(a, b, tolerance) is None]
    if len(fine) == 1:
        return Message("right-in-one", {"process": fine[0]})
    if fine:
        return Message("right-in-some", {"processes": (*fine,)})
    if any(isinstance(x, Array) and x.partial for x in got):
        return None  # each process has a different part of the same array
    alike = all(difference(x, expected[0], tolerance) is None for x in expected)
    if alike and any(difference(x, got[0], tolerance) for x in got):
        return Message("processes-differ")
    return None


def _parts(cases: Cases, path: str) -> list[Value] | None:
    """Return the part of the value at this path in every process; None for a process that has none."""
    parts = [part_at(case.value, path) for case in cases]
    existing = [part for part in parts if part is not None]
    return existing if len(existing) == len(parts) else None
