"""The verdict on one answer, from what was seen of it and of the solution."""

from dataclasses import dataclass, field
from typing import Any

from grader.exercise.spec import Spec
from grader.see.compare import LEFT_ALONE, Difference, difference, placement
from minipod import forked


@dataclass
class Verdict:
    """What is known about one answer.

    outcome   "todo", "right", "wrong", "broken", "hung" or "skipped"
    reason    why, as a key of messages.toml, with its values in `facts`
    mistake   the function of mistakes.py that behaves the same, or None
    near      what the answer nearly is, as a key of messages.toml and its values, where no mistake explains it
    """

    exercise: str
    outcome: str
    reason: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    mistake: str | None = None
    file: str = ""
    line: int = 0
    args: Any = None  # packed arguments of the case that shows it
    difference: Difference | None = None
    process: int | None = None  # which process of a cluster shows it
    case: int | None = None  # which case shows it
    near: tuple[str, dict[str, Any]] | None = None


def judge(
    spec: Spec, verdict: Verdict, right: list[Any], answer: list[forked.Result], name: str, limit: float = 0.0
) -> Verdict:
    """Compare what was seen of `name` with what was seen of the solution, process by process, case by case.

    right   per process the solution's cases; answer: per process the result of the child
    limit   seconds that the processes had; one that hung before that hung because the others had finished
    """
    several = len(answer) > 1
    if any(result.status == "hung" for result in answer) and (found := _own_error(answer, name)):
        verdict.process, n, case = found  # why another process waits
        _one(spec, verdict, case, right[verdict.process][n])
        verdict.args, verdict.case = case["args"], n
        return verdict
    # what ended a process comes before what its peers met because of it
    order = sorted(range(len(answer)), key=lambda i: answer[i].status == "left")
    for i in order:
        result = answer[i]
        verdict.process = i if several else None
        if result.status == "hung":
            early = several and result.seconds < limit
            return settle(verdict, "hung", "hung-alone" if early else "hung-text", where=result.text)
        if result.status != "ok":
            return settle(verdict, "broken", _reason(result), error=result.text)
        if "load" in result.value:
            error = result.value["load"]
            verdict.line = error["own"][-1][0] if error["own"] else verdict.line
            return settle(verdict, "broken", "load-exit" if error["kind"] == "exit" else "load", **error)
        if result.value["functions"].get(name) is None:
            return settle(verdict, "todo", "function-missing")
    cases = [(i, n) for n in range(len(right[0])) for i in range(len(answer))]
    seen = [result.value["functions"][name] for result in answer]
    # an error of the learner's own comes before a wait for the process that had it
    cases.sort(key=lambda c: (c[1], lost(seen[c[0]][c[1]])))
    for i, n in cases:
        if not _one(spec, verdict, seen[i][n], right[i][n]):
            verdict.process = i if several else None
            verdict.args, verdict.case = seen[i][n]["args"], n
            return verdict
    verdict.process = None
    return settle(verdict, "right", "right")


def _own_error(answer: list[forked.Result], name: str) -> tuple[int, int, dict[str, Any]] | None:
    """The first error that is not a wait in vain: its process, its case, and what was seen."""
    for i, result in enumerate(answer):
        cases = result.value.get("functions", {}).get(name) if result.status == "ok" else None
        for n, case in enumerate(cases or []):
            if "error" in case and not lost(case):
                return i, n, case
    return None


def _reason(result: forked.Result) -> str:
    """The message for a process that gave no result."""
    if result.status == "raised":
        return "memory" if "MemoryError" in result.text else "stopped"
    return "crashed" if result.status == "died" and result.text.startswith("SIG") else result.status


def lost(case: dict[str, Any]) -> bool:
    """Whether a collective gave up because the other process did not come."""
    return "error" in case and LEFT_ALONE.search(case["error"]["text"]) is not None


def _one(spec: Spec, verdict: Verdict, case: dict[str, Any], right: dict[str, Any]) -> bool:
    """Judge one case; True when it is right."""
    if "error" in case:
        error = case["error"]
        if error["kind"] == "blank":
            settle(verdict, "todo", "todo")
        elif error["kind"] == "exit":
            settle(verdict, "broken", "exit", **error)
        elif error["type"] in ("MemoryError", "_ArrayMemoryError") or "RESOURCE_EXHAUSTED" in error["text"]:
            settle(verdict, "broken", "memory", **error)
        else:
            settle(verdict, "wrong", "waited" if lost(case) else "raised", **error)
        return False
    found = None
    if "value" in spec.compare:
        found = difference(case["value"], right["value"], spec.tolerance)
    if not found and "placement" in spec.compare:
        found = placement(case["value"], right["value"])
    if not found and "printed" in spec.compare and case["printed"] != right["printed"]:
        found = Difference("printed", case["printed"], right["printed"])
    if found:
        verdict.difference = found
        settle(verdict, "wrong", "differs")
        return False
    if budget := over_budget(case):
        settle(verdict, "wrong", **budget)
        return False
    if case.get("host"):
        settle(verdict, "wrong", case["host"])
        return False
    return True


def over_budget(case: dict[str, Any]) -> dict[str, Any] | None:
    """How the compiled program breaks its budget: a message key and its values, or None."""
    budget = case.get("budget")
    if not budget:
        return None
    if "unreadable" in case:
        return {"reason": "traffic-unreadable", "error": case["unreadable"]}
    traffic = case["traffic"]
    facts = {"traffic": traffic, "ops": budget["ops"], "bytes": budget["bytes"], "single": budget.get("single", False)}
    total = case["total"]
    if total is None:
        return {"reason": "traffic-unknown", **facts}
    too_many = facts["single"] and sum(times for _, _, times in traffic) > 1
    if total > budget["bytes"] or too_many or {op for op, _, _ in traffic} - set(budget["ops"]):
        return {"reason": "budget", "total": total, **facts}
    for axis, most in budget.get("along", {}).items():
        if case["along"][axis] > most:
            return {"reason": "budget-along", "axis": axis, "has": case["along"][axis], "most": most, **facts}
    return None


def settle(verdict: Verdict, outcome: str, reason: str, **facts: Any) -> Verdict:
    """Note the outcome and return the verdict."""
    verdict.outcome, verdict.reason, verdict.facts = outcome, reason, facts
    return verdict
