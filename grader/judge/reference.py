"""The reference solution: whether it comes to its end on this machine, and is right."""

from grader.exercise.spec import Spec
from grader.judge.verdict import over_budget
from grader.see.compare import difference
from minipod import forked

FRAMES = ("@ ", "***")  # of the stack that a C++ library prints when it gives up


def last_words(spec: Spec, solution: list[forked.Result]) -> str | None:
    """What it said last where it ended on this machine: a limit, or a library that is not whole; None if it did not."""
    for result in sorted(solution, key=lambda r: r.status == "left"):
        if result.status == "hung":
            return f"TimeoutError: {result.seconds:.0f} s"
        if result.status != "ok":
            said = [line.strip() for line in (result.text if result.status == "raised" else result.output).splitlines()]
            last = next((line for line in reversed(said) if line and not line.startswith(FRAMES)), "")
            return last if result.status == "raised" else ": ".join(filter(None, (result.text or result.status, last)))
        seen = result.value.get("functions", {}).get(spec.name) or []
        for error in [result.value.get("load"), *(case.get("error") for case in seen)]:
            if error and error["kind"] != "blank" and error["type"] != "SyntaxError":
                where = f" ({error['own'][-1][1].strip()})" if error["own"] else ""
                return f"{error['type']}: {error['text'].partition(chr(10))[0]}{where}"
    return None


def fault(spec: Spec, solution: list[forked.Result]) -> str | None:
    """What is wrong with the lesson itself, or None: the solution differs from the oracle, there are too few cases."""
    for result in solution:
        if "load" in result.value:
            return f"solution: {result.value['load']['type']}: {result.value['load']['text']}"
        seen = result.value["functions"][spec.name]
        if seen is None:
            return "the solution is missing"
        if len(seen) * spec.processes < 2:
            return "at least two cases are needed"
        for n, case in enumerate(seen):
            if "error" in case:
                return f"solution, case {n}: {case['error']['type']}"
            if budget := over_budget(case):
                return f"solution, case {n}: over the budget, {budget}"
        for n, (case, oracle) in enumerate(zip(seen, result.value["oracle"], strict=False)):
            if "error" in oracle:
                return f"oracle, case {n}: {oracle['error']['type']}: {oracle['error']['text']}"
            if "value" not in spec.compare and "printed" in spec.compare:
                if case["printed"] != oracle["value"].get("v"):
                    return f"case {n}: the solution printed {case['printed']!r}, the oracle says {oracle['value']}"
            elif found := difference(case["value"], oracle["value"], spec.tolerance, strict=False):
                return f"case {n}: solution and oracle differ in {found.kind} {found.path}{found.at}"
    return None
