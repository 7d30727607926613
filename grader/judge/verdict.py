"""Reach a verdict on one answer from the observations of it and of the solution."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from grader.exercise.spec import Spec
from grader.judge.calls import OtherCalls
from grader.judge.compare import Difference, PrintedDifference, copies, difference, placement
from grader.messages import Message, number
from grader.see.array_values import Array, size
from grader.see.observation import CodeLine, Failure, Observation, ProcessResult, Traffic, Unreadable
from grader.see.values import Nothing, Tree, Value

Seen = Sequence[Sequence[Observation]]  # of one function: per process its cases


@dataclass
class Verdict:
    """The verdict on one answer.

    outcome   "todo", "right", "wrong", "broken", "hung" or "skipped"
    because   the reason, as a message
    mistake   the function of mistakes.py that behaves the same, or None
    likely    otherwise, the one that behaves the same as far as the cases tell, or None
    partly    whether it does so only in the parts that are wrong, so that its text does not apply to the others
    together  otherwise, the mistakes that explain it together
    near      the near miss, if no mistake explains the answer: a message whose key lacks "near-"
    unmoved   the arguments, or parts of them, on which its result does not depend, though the right one does
    calls     its calls of functions among the arguments, if they differ from the solution's
    deleted   files in its folder that were deleted during the check, as a message, or None
    """

    exercise: str
    outcome: str
    because: Message = Message("")
    mistake: str | None = None
    likely: str | None = None
    partly: bool = False
    together: tuple[str, ...] = ()
    file: str = ""
    line: int = 0
    args: tuple[Value, ...] | None = None  # of the case that shows it
    failure: Failure | None = None  # the error that ended it
    observation: Observation | None = None  # of a program that is over its budget
    signal: str = ""  # or exit code, that ended the process
    stack: str = ""  # of an answer that hung: faulthandler's traceback
    code: tuple[CodeLine, ...] = ()  # the answer's own lines that led there
    difference: Difference | PrintedDifference | None = None
    process: int | None = None  # which process of a cluster shows it
    case: int | None = None  # which case shows it
    none: bool = False  # whether None is the answer in some case
    near: Message | None = None
    unmoved: tuple[str, ...] = ()
    calls: tuple[OtherCalls, ...] = ()
    deleted: Message | None = None

    @property
    def reason(self) -> str:
        """Return the reason, as a key of messages.toml."""
        return self.because.key


@dataclass(frozen=True)
class Fault:
    """The reason why one case is not right; the fields are those of `Verdict`."""

    outcome: str
    because: Message
    failure: Failure | None = None
    code: tuple[CodeLine, ...] = ()
    observation: Observation | None = None
    difference: Difference | PrintedDifference | None = None
    process: int | None = None
    case: int | None = None
    args: tuple[Value, ...] | None = None


def judge(
    spec: Spec,
    verdict: Verdict,
    right: Seen,
    answer: Sequence[ProcessResult],
    name: str,
    limit: float = 0.0,
    first: bool = False,
) -> Verdict:
    """Compare the observations of `name` with those of the solution, process by process and case by case.

    right   the solution's cases, for each process; answer: the child's result, for each process
    limit   seconds that the processes had; a process that hung earlier did so because the others had finished
    first   whether to stop at the first wrong case, because it is not shown
    """
    several = len(answer) > 1
    verdict.none = any(isinstance(case.value, Nothing) for cases in right for case in cases)
    if any(result.status == "hung" for result in answer) and (own_fault := _own_error(spec, right, answer, name)):
        return show(verdict, own_fault)  # why another process waits
    # what ended a process comes before what its peers met because of it
    order = sorted(range(len(answer)), key=lambda i: answer[i].status == "left")
    for i in order:
        result = answer[i]
        verdict.process = i if several else None
        if result.status != "ok" and 0 < result.begun <= len(right[i]):
            verdict.args = right[i][result.begun - 1].args
        if result.status == "hung":
            early = several and result.seconds < limit
            verdict.stack = result.text
            return settle(verdict, "hung", "hung-alone" if early else "hung-text")
        if result.status != "ok":
            verdict.signal = result.text
            return settle(verdict, "broken", _reason(result), error=result.text)
        if error := result.file.load:
            verdict.line = (error.code[-1][0] or 0) if error.code else verdict.line
            fault = _failed("broken", "load-exit" if error.kind == "exit" else "load", error)
            return show(verdict, replace(fault, process=verdict.process))
        if result.cases(name) is None:
            return settle(verdict, "todo", "function-missing")
    if wrong := wrong_cases(spec, right, answer, name, first):
        return show(verdict, wrong[0] if wrong[0].outcome != "wrong" else _clearest(wrong))
    verdict.process = None
    return settle(verdict, "right", "right")


def wrong_cases(
    spec: Spec, right: Seen, answer: Sequence[ProcessResult], name: str, first: bool = False
) -> list[Fault]:
    """Return each case that is not right, in each process; none after one that ends or has a blank, or if `first`."""
    observed = [result.cases(name) or () for result in answer]
    cases = [(i, n) for n in range(len(right[0])) for i in range(len(answer))]
    # an error of the learner's own comes before a wait for the process that had it
    cases.sort(key=lambda c: (c[1], observed[c[0]][c[1]].timed_out))
    faults: list[Fault] = []
    for i, n in cases:
        if fault := judge_case(spec, observed[i][n], right[i][n]):
            faults.append(replace(fault, process=i if len(answer) > 1 else None, case=n, args=observed[i][n].args))
            if first or fault.outcome != "wrong":  # not begun, or ended: there the others say nothing
                break
    return faults


def show(verdict: Verdict, fault: Fault) -> Verdict:
    """Set the verdict from this case and return it."""
    for field in fields(Fault):
        setattr(verdict, field.name, getattr(fault, field.name))
    return verdict


def _clearest(wrong: list[Fault]) -> Fault:
    """Return the smallest wrong case among those that are wrong in the more frequent way: by an error, or by a value.

    A case without elements, or with a dimension of size 1, tells least, because much in it is true by accident.
    """
    if any(one.because.key == "waited" for one in wrong):
        return wrong[0]  # what follows a wait in vain was not tried
    wrong = [one for one in wrong if one.outcome == "wrong"]
    raised, returned = ([one for one in wrong if (one.failure is not None) is kind] for kind in (True, False))
    first = raised if wrong[0].failure else returned
    likes = max((first, raised, returned), key=len)
    return min(likes, key=lambda one: (any(map(_is_thin, one.args or ())), _size(one)))


def _is_thin(x: Value) -> bool:
    if isinstance(x, Array):
        return any(n < 2 for n in x.shape)
    return isinstance(x, Tree) and (not x.items or any(map(_is_thin, x.items)))


def _size(one: Fault) -> int:
    return sum(map(size, one.args or ()))


def _own_error(spec: Spec, right: Seen, answer: Sequence[ProcessResult], name: str) -> Fault | None:
    """Return the first error that is not a timeout while waiting for other processes."""
    for i, result in enumerate(answer):
        for n, case in enumerate(result.cases(name) or ()):
            if case.failure and not case.timed_out and (fault := judge_case(spec, case, right[i][n])):
                return replace(fault, process=i, case=n, args=case.args)
    return None


def _reason(result: ProcessResult) -> str:
    """Return the message for a process that gave no result."""
    if result.status == "raised":
        return "memory" if "MemoryError" in result.text else "stopped"
    return "crashed" if result.status == "died" and result.text.startswith("SIG") else result.status


def judge_case(spec: Spec, case: Observation, right: Observation) -> Fault | None:
    """Return why one case is not right; None if it is."""
    if error := case.failure:
        if error.kind == "blank":
            return Fault("todo", Message("todo"))
        if error.kind == "exit":
            return _failed("broken", "exit", error)
        if error.kind == "branch":
            because = Message("in-branch", {"op": error.text, "inside": error.into})
            return Fault("wrong", because, failure=error, code=error.code)
        if error.type in ("MemoryError", "_ArrayMemoryError") or "RESOURCE_EXHAUSTED" in error.text:
            return _failed("broken", "memory", error)
        waited = error.is_timeout and spec.processes > 1
        return _failed("wrong", "waited" if waited else "raised", error)
    if wrong := _differs(spec, case, right):
        return Fault("wrong", Message("differs"), difference=wrong)
    if over := over_budget(case):
        return Fault("wrong", over, observation=case)
    if spec.work and (much := too_much_work(case, right)):
        return Fault("wrong", much)
    if case.leaves_devices:
        return Fault("wrong", Message(case.leaves_devices))
    if kept := set(right.given_up) - set(case.given_up):
        return Fault("wrong", Message("not-donated", {"place": min(kept)}))
    if change := case.changed:
        key = "setting-changed" if change.setting else "argument-changed"
        return Fault("wrong", Message(key, {"setting": change.setting, "place": change.argument or 0}))
    return None


def _failed(outcome: str, reason: str, failure: Failure) -> Fault:
    error = f"{failure.type} {failure.text}".strip()
    message = Message(reason, {"type": failure.type, "text": failure.text, "error": error})
    return Fault(outcome, message, failure=failure, code=failure.code)


def _differs(spec: Spec, case: Observation, right: Observation) -> Difference | PrintedDifference | None:
    """Return the first compared aspect that differs from the solution."""
    assert case.value and right.value
    if wrong := copies(case.value, spec.tolerance):
        return wrong
    if "value" in spec.compare and (wrong := difference(case.value, right.value, spec.tolerance)):
        return wrong
    if "placement" in spec.compare and (wrong := placement(case.value, right.value)):
        return wrong
    if "printed" in spec.compare and case.printed != right.printed:
        return PrintedDifference(case.printed, right.printed)
    return None


def over_budget(case: Observation) -> Message | None:
    """Return how the compiled program breaks its budget, or None."""
    budget, traffic = case.budget, case.traffic
    if not budget or traffic is None:
        return None
    if isinstance(traffic, Unreadable):
        return Message("traffic-unreadable", {"error": traffic.error})
    if traffic.total is None:
        return Message("traffic-unknown")
    too_many = budget.single and traffic.count > 1
    if is_more(traffic.total, budget.sent) or too_many or {t.op for t in traffic.transfers} - budget.ops:
        return Message("budget", {"total": traffic.total, "most": budget.sent})
    for axis, most in budget.along.items():
        has = traffic.along[axis]
        if has is None or is_more(has, most):
            return Message("budget-along", {"axis": axis, "has": number(has or 0), "most": number(most)})
    if budget.seconds is not None and is_more(traffic.seconds or 0, budget.seconds):
        has, most = (_duration(s) for s in (traffic.seconds or 0, budget.seconds))
        return Message("budget-seconds", {"on": budget.on, "has": has, "most": most})
    if budget.hidden and traffic.exposed:
        return Message("budget-hidden", {"exposed": traffic.exposed})
    if budget.temporary is not None and (traffic.temporary or 0) > budget.temporary:
        return Message("budget-temporary", {"has": traffic.temporary, "most": budget.temporary})
    return None


MOST_WORK = 1.5  # times the solution's: what is computed again in a backward pass is a third more
MOST_MOVED = 4  # times the solution's: right answers that loop, sort or make temporary arrays move up to three times


def too_much_work(case: Observation, right: Observation) -> Message | None:
    """Return a message if each device computes too much, because nothing is divided or a part is computed twice.

    Matrix products are counted; if the solution has none, the bytes that a device reads and writes. In both cases, it
    is also noticed if nothing is sent although the solution sends data.
    """
    if not (isinstance(case.traffic, Traffic) and isinstance(right.traffic, Traffic)):
        return None
    key, has, enough, most = "work", case.traffic.flops, right.traffic.flops, MOST_WORK
    if not enough:
        key, has, enough, most = "work-moved", case.traffic.moved, right.traffic.moved, MOST_MOVED
    if has and enough and has > most * enough:
        return Message(key, {"times": f"{has / enough:.1f}", "has": number(has), "enough": number(enough)})
    return Message("work-undivided") if case.traffic.total == 0 and right.traffic.total else None


def is_more(a: float, b: float) -> bool:
    """Return whether a number of bytes is larger; thirds of a byte are rounded and may differ in the last digit."""
    return a > b and not math.isclose(a, b)


def _duration(seconds: float) -> str:
    for unit, scale in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def settle(verdict: Verdict, outcome: str, reason: str, **values: object) -> Verdict:
    """Set the outcome and its reason, with the values that the message shows, and return the verdict."""
    verdict.outcome, verdict.because = outcome, Message(reason, values)
    return verdict
