"""Diagnose, in at most one sentence, which right result a wrong answer comes close to, if no known mistake explains it.

A diagnosis follows from the observations of the answer and the solution, and has to be true of every wrong case.
"""

import numpy as np

from grader.exercise.spec import Spec
from grader.judge.compare import Difference, PrintedDifference, difference
from grader.judge.near_misses import changes, placements, raised, trees
from grader.judge.near_misses.of_value import Wrong, of_value
from grader.judge.near_misses.pair import Setting, pair
from grader.judge.verdict import Seen, Verdict
from grader.messages import Message
from grader.see.array_values import size
from grader.see.observation import Traffic


def near_miss(spec: Spec, verdict: Verdict, right: Seen, answer: Seen) -> Message | None:
    """Return the diagnosis of a wrong answer, or None. `verdict`, `right` and `answer` as in `verdict.judge`.

    The usual errors are explained, too.
    """
    if verdict.reason == "crashed":
        if spec.processes > 1 and verdict.signal == "SIGABRT":
            return Message("crashed-together")
        return Message("donated-crash") if verdict.signal == "SIGSEGV" else None
    if verdict.reason in ("raised", "load") and (failure := verdict.failure):
        on_purpose = failure.code and failure.code[-1][1].strip().startswith("raise ")
        return None if on_purpose else raised.explained(failure.type, failure.text)
    if verdict.case is None or verdict.reason not in ("differs", "budget"):
        return None
    place, n = verdict.process or 0, verdict.case
    case, solution = answer[place][n], right[place][n]
    if verdict.reason == "budget":
        assert isinstance(case.traffic, Traffic) and isinstance(solution.traffic, Traffic) and case.budget
        return placements.budget(case.traffic, case.budget, solution.traffic)
    wrong = verdict.difference
    if isinstance(wrong, PrintedDifference):
        return placements.printed(case.printed, solution.printed)
    assert wrong is not None
    if wrong.kind == "copies":
        return None  # what differs says it all
    if message := changes.kept([c.value for c in answer[place]], [c.value for c in right[place]], spec.tolerance):
        return message
    if wrong.kind == "placement":
        if wrong.device is not None or _same_numbers(answer, right, place, n, wrong):
            return placements.placement(wrong.got, wrong.expected)
    with np.errstate(all="ignore"):
        message = of_value(Wrong(spec, answer, right, place, n, wrong))
    return message or _some_cases(spec, answer, right)


def _same_numbers(got: Seen, right: Seen, place: int, n: int, wrong: Difference) -> bool:
    mine, its = ([trees.part_at(p[n].value, wrong.path) for p in x] for x in (got, right))
    both = pair(mine, its, place, 0.0, Setting(1))
    return both is not None and both.like(both.got, both.expected)


def _some_cases(spec: Spec, got: Seen, right: Seen) -> Message | None:
    """Return how many of the inputs give the right value, and the smallest of them."""
    every = [[(p[n].value, q[n].value) for p, q in zip(got, right, strict=True)] for n in range(len(got[0]))]
    fine = [all(a and b and not difference(a, b, spec.tolerance) for a, b in case) for case in every]
    if not 0 < sum(fine) < len(fine):
        return None
    args = min(
        (case.args or () for case, well in zip(got[0], fine, strict=True) if well), key=lambda x: sum(map(size, x))
    )
    return Message("some-cases", {"right": sum(fine), "n": len(fine), "args": args})
