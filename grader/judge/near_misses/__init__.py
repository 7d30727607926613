"""What a wrong answer nearly is, when no known mistake explains it: one sentence's worth, or nothing.

Computed from what was seen of the answer and the solution, over all cases: a diagnosis has to hold for all that are
wrong.
"""

import numpy as np

from grader.exercise.spec import Spec
from grader.exercise.statements import functions
from grader.judge.compare import Difference, PrintedDifference, difference
from grader.judge.near_misses import changes, trees
from grader.judge.near_misses import placements as places
from grader.judge.near_misses import raised as errors
from grader.judge.near_misses.of_value import Wrong, of_value, setting_of
from grader.judge.near_misses.pair import Setting, pair
from grader.judge.verdict import Seen, Verdict
from grader.messages import Message
from grader.see.array_values import size
from grader.see.observation import Traffic
from grader.see.values import Nothing


def near_miss(spec: Spec, verdict: Verdict, right: Seen, answer: Seen) -> Message | None:
    """The diagnosis of a wrong answer, or None. `verdict`, `right` and `answer` as in `verdict.judge`.

    An error is explained, too, where it is one of the usual ones.
    """
    if verdict.reason == "crashed":
        if spec.processes > 1 and verdict.signal == "SIGABRT":
            return Message("crashed-together")
        return Message("donated-crash") if verdict.signal == "SIGSEGV" else None
    if verdict.reason in ("raised", "load") and (failure := verdict.failure):
        if failure.own and failure.own[-1][1].strip().startswith("raise "):
            return _raised_itself(verdict, right)
        said = errors.explained(failure.type, failure.text)
        if said and verdict.args is not None:
            given = dict(zip(parameters(spec), verdict.args, strict=False))
            if said.key == "error-zero":
                return errors.by_zero(given, len(given) == len(verdict.args))
            if said.key == "error-index":
                return errors.beyond(given | dict(failure.names))
        return said
    if verdict.case is None or verdict.reason not in ("differs", "budget"):
        return None
    place, n = verdict.process or 0, verdict.case
    case, solution = answer[place][n], right[place][n]
    setting = setting_of(spec, case.args, solution.value)
    if verdict.reason == "budget":
        assert isinstance(case.traffic, Traffic) and isinstance(solution.traffic, Traffic) and case.budget
        return places.budget(case.traffic, case.budget, solution.traffic, setting.devices)
    found = verdict.difference
    if isinstance(found, PrintedDifference):
        return places.printed([p[n].printed for p in answer], [p[n].printed for p in right], place)
    assert found is not None
    if found.kind == "copies":
        return None  # what differs says it all
    if said := changes.kept([c.value for c in answer[place]], [c.value for c in right[place]], spec.tolerance):
        return said
    if found.kind == "placement" and found.device is not None:
        return places.placement(found.got, found.expected)
    if found.kind == "placement" and _same_numbers(answer, right, place, n, found):
        return places.placement(found.got, found.expected)
    with np.errstate(all="ignore"):
        said = of_value(Wrong(spec, answer, right, place, n, found))
    return said or _some_cases(spec, answer, right)


def _raised_itself(verdict: Verdict, right: Seen) -> Message:
    """Of an error that the answer raises on purpose: whether there is a value for these arguments."""
    place, n = verdict.process or 0, verdict.case
    value = right[place][n].value if n is not None else None
    return Message("raised-itself" if value is None or isinstance(value, Nothing) else "raised-for-a-value")


def parameters(spec: Spec) -> list[str]:
    """How the exercise's statement calls its arguments; empty where it cannot be read."""
    try:
        node = functions(spec.folder / "exercises.py").get(spec.name)
    except (OSError, SyntaxError):
        return []
    return [arg.arg for arg in node.args.args] if node else []


def _same_numbers(seen: Seen, right: Seen, place: int, n: int, found: Difference) -> bool:
    mine, its = ([trees.part_at(p[n].value, found.path) for p in x] for x in (seen, right))
    both = pair(mine, its, place, 0.0, Setting(1))
    return both is not None and both.like(both.got, both.expected)


def _some_cases(spec: Spec, seen: Seen, right: Seen) -> Message | None:
    """How many of the inputs give the right value, and the smallest of them."""
    every = [[(p[n].value, q[n].value) for p, q in zip(seen, right, strict=True)] for n in range(len(seen[0]))]
    fine = [all(a and b and not difference(a, b, spec.tolerance) for a, b in case) for case in every]
    if not 0 < sum(fine) < len(fine):
        return None
    args = min(
        (case.args or () for case, well in zip(seen[0], fine, strict=True) if well), key=lambda x: sum(map(size, x))
    )
    return Message("some-cases", {"right": sum(fine), "n": len(fine), "args": args})
