"""Check whether the reference solution finishes on this machine and is right."""

import re
from pathlib import Path

from grader.exercise.spec import Spec
from grader.judge.compare import difference
from grader.judge.verdict import over_budget
from grader.see.observation import Observation, ProcessResult, Truth
from grader.see.values import Text

FRAMES = ("@ ", "***")  # of the stack that a C++ library prints when it gives up
_INNERMOST = re.compile(r'File "([^"]+)", (line \d+ in \S+)')  # in faulthandler's words, the first is where it is


def last_words(spec: Spec, solution: list[ProcessResult]) -> str | None:
    """Return the last error if it failed on this machine, at a limit or in a broken library; None if it finished."""
    for result in sorted(solution, key=lambda r: r.status == "left"):
        if result.status == "hung":
            at = _INNERMOST.search(result.text)
            return f"TimeoutError: {result.seconds:.0f} s" + (f" ({Path(at[1]).name}, {at[2]})" if at else "")
        if result.status != "ok":
            lines = [
                line.strip() for line in (result.text if result.status == "raised" else result.output).splitlines()
            ]
            last = next((line for line in reversed(lines) if line and not line.startswith(FRAMES)), "")
            return last if result.status == "raised" else ": ".join(filter(None, (result.text or result.status, last)))
        cases = result.cases(spec.name) or ()
        for error in [result.file.load, *(case.failure for case in cases)]:
            if error and error.kind != "blank" and error.type != "SyntaxError":
                where = f" ({error.code[-1][1].strip()})" if error.code else ""
                return f"{error.type}: {error.first_line}{where}"
    return None


def fault(spec: Spec, solution: list[ProcessResult]) -> str | None:
    """Return the fault of the lesson itself, such as a solution that differs from the oracle; None if there is none."""
    for result in solution:
        if error := result.file.load:
            return f"solution: {error.type}: {error.text}"
        cases = result.cases(spec.name)
        if cases is None:
            return "the solution is missing"
        if len(cases) * spec.processes < 2:
            return "at least two cases are needed"
        for n, case in enumerate(cases):
            if case.failure:
                return f"solution, case {n}: {case.failure.type}"
            if budget := over_budget(case):
                return f"solution, case {n}: over the budget, {budget.values}"
        for n, (case, truth) in enumerate(zip(cases, result.file.oracle, strict=False)):
            if other := _other_than(spec, case, truth):
                return f"{'oracle, ' * (truth.failure is not None)}case {n}: {other}"
    return None


def _other_than(spec: Spec, case: Observation, truth: Truth) -> str | None:
    """Describe where solution and oracle differ."""
    if truth.failure:
        return f"{truth.failure.type}: {truth.failure.text}"
    assert case.value and truth.value
    if "value" not in spec.compare and "printed" in spec.compare:
        wanted = truth.value.text if isinstance(truth.value, Text) else truth.value
        return f"the solution printed {case.printed!r}, the oracle says {wanted!r}" if case.printed != wanted else None
    wrong = difference(case.value, truth.value, spec.tolerance, strict=False)
    return f"solution and oracle differ in {wrong.kind} {wrong.path}{wrong.at}" if wrong else None
