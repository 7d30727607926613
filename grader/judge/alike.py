"""Decide whether two functions behaved the same: on every case, or as far as the cases tell."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grader.exercise.spec import Spec
from grader.judge.compare import copies, difference, placement
from grader.judge.verdict import Seen, judge_case, over_budget, too_much_work
from grader.see.array_values import Array, size
from grader.see.observation import LEFT_ALONE, Failure, Observation, ProcessResult, Traffic
from grader.see.values import Float, Nothing, Value, leaves

# Faults that JAX reports in several ways, by type of mesh or by which of its layers finds them first.
FAULTS = {
    "a collective was left alone": LEFT_ALONE,
    "does not divide evenly": re.compile(r"implies that array axis \d+ is partitioned \d+ times"),
}

Function = tuple[Sequence[ProcessResult], str, str]  # what was seen of a function, its name, its file


def same_behaviour(spec: Spec, one: Function, other: Function, exact: bool = True, by_value: bool = False) -> bool:
    """Return whether two functions behaved the same on every case, in every process.

    exact  also require the same collectives, not only the same bytes, and the same work if it is counted; and waiting
           or failing in the same call of JAX
    by_value  their values are what is wrong; unless exact, they may then break their budgets in different ways
    """
    (ours, name, file), (theirs, other_name, other_file) = one, other
    if len(ours) != len(theirs):  # of a lost cluster only this process's part is known
        return False
    for a, b in zip(ours, theirs, strict=True):
        if a.status != b.status:
            return False
        if a.status == "hung" and exact and waits_in(a.text, file) != waits_in(b.text, other_file):
            return False
        if a.status != "ok":
            continue
        mine, its = a.cases(name), b.cases(other_name)
        if mine is None or its is None:
            return False
        if not all(_same_case(spec, x, y, name, other_name, exact) for x, y in zip(mine, its, strict=True)):
            return False
        if (exact or not by_value) and list(map(_over, mine)) != list(map(_over, its)):
            return False
    return True


_FRAME = re.compile(r'File "([^"]+)", line \d+ in (\S+)')


def waits_in(stack: str, file: str) -> str:
    """Return the call in which an answer waits, from faulthandler's traceback: the outermost frame outside the answer.

    "itself" if the innermost frame is the answer's own; "" if the answer is not in the stack.
    """
    call = "itself"
    for path, name in _FRAME.findall(stack):  # innermost first
        if path == file:
            return call
        call = name
    return ""


def _same_case(spec: Spec, a: Observation, b: Observation, name: str, other_name: str, exact: bool) -> bool:
    if a.failure and b.failure:
        if exact and a.failure.into != b.failure.into:
            return False
        return _behaviour(a.failure, name) == _behaviour(b.failure, other_name)
    if not _same_value(spec, a, b) or (exact and _left(a) != _left(b)):
        return False
    if exact and spec.work and (too_much_work(a, b) or too_much_work(b, a)):
        return False
    if exact and spec.budget is not None:
        return _bill(a) == _bill(b)
    return spec.budget is None or _total(a) == _total(b)


def _same_value(spec: Spec, a: Observation, b: Observation) -> bool:
    """Return whether both returned the same value in the same places, and printed the same text."""
    if a.value is None or b.value is None:
        return False
    aspects = set(spec.compare)
    if (copies(a.value, spec.tolerance) is None) != (copies(b.value, spec.tolerance) is None):
        return False
    if aspects & {"value", "placement"} and difference(a.value, b.value, spec.tolerance):
        return False
    if "placement" in aspects and (placement(a.value, b.value) or placement(b.value, a.value)):
        return False
    return "printed" not in aspects or a.printed == b.printed


def _behaviour(error: Failure, name: str) -> tuple[str, str]:
    text = error.text.replace(name, "<the exercise>")
    for fault, words in FAULTS.items():
        if words.search(text):
            return "fault", fault
    return error.type, masked(text)


def _bill(case: Observation) -> object:
    traffic = case.traffic
    return (sorted(map(str, traffic.transfers)), traffic.along) if isinstance(traffic, Traffic) else None


def _total(case: Observation) -> object:
    traffic = case.traffic
    return ({t.op for t in traffic.transfers}, traffic.total, traffic.along) if isinstance(traffic, Traffic) else None


def _over(case: Observation) -> str:
    """Return the first part of its budget that the program breaks, as a key of messages.toml."""
    over = over_budget(case)
    return over.key if over else ""


@dataclass(frozen=True)
class Agreement:
    """The cases on which a wrong answer and a mistake were wrong in the same way, and those on which they differed.

    A case counts for neither if one of them raises, in any process, or returns None although there is a result.

    telling  whether a value is so specific that two are hardly equal by accident, as a single id or word may be
    """

    alike: frozenset[int]
    apart: frozenset[int]
    telling: bool


def agreement(spec: Spec, right: Seen, answer: Sequence[ProcessResult], mistake: Function) -> Agreement | None:
    """Return how far an answer behaves like a mistake; None if one of them did not finish."""
    results, name, _ = mistake
    mine = [result.cases(spec.name) for result in answer]
    its = [result.cases(name) for result in results]
    if any(result.status != "ok" for result in (*answer, *results)) or len(mine) != len(its) or None in (*mine, *its):
        return None
    alike, apart, telling = set(), set(), False
    for n in range(len(right[0])):
        a, b, solution = ([(cases or ())[n] for cases in cases_of] for cases_of in (mine, its, right))
        if any(
            case.failure or _gave_up(case, its_right)
            for cases_of in (a, b)
            for case, its_right in zip(cases_of, solution, strict=True)
        ):
            continue
        if not all(_nearly_same(spec, *three) for three in zip(a, b, solution, strict=True)):
            apart.add(n)
        elif not all(_is_right(spec, x, y) for x, y in zip(a, solution, strict=True)):
            alike.add(n)
            telling |= any(case.value and _says_much(case.value) for case in a)
    return Agreement(frozenset(alike), frozenset(apart), telling)


def _gave_up(case: Observation, right: Observation) -> bool:
    """Return whether None came back although it is not the result; most functions that find nothing return None."""
    return isinstance(case.value, Nothing) and not isinstance(right.value, Nothing)


def _says_much(x: Value) -> bool:
    return any(map(_is_telling, leaves(x).values()))


def _is_telling(leaf: Value) -> bool:
    """Return whether a value has many digits, or several numbers that are not all NaN (anything may lead to NaN)."""
    if isinstance(leaf, Array) and leaf.has_numbers and (numbers := leaf.whole()) is not None:
        if numbers.dtype.kind == "f" and not np.isfinite(numbers).any():
            return False
    return isinstance(leaf, Float) and math.isfinite(leaf.number) or isinstance(leaf, Array) and size(leaf) > 2


def _nearly_same(spec: Spec, a: Observation, b: Observation, right: Observation) -> bool:
    """Return whether both return the same value and, if it is right, break their budgets in the same way."""
    if not _same_value(spec, a, b):
        return False
    if not _same_value(spec, a, right):
        return True
    costs = spec.budget is None or (_over(a), _total(a)) == (_over(b), _total(b))
    return costs and _left(a) == _left(b)


def _left(case: Observation) -> object:
    """Return what an answer should not have done, leaving the devices or changing things, and what it donated."""
    return case.leaves_devices, case.changed, case.given_up


def _is_right(spec: Spec, case: Observation, right: Observation) -> bool:
    return judge_case(spec, case, right) is None


def masked(text: str) -> str:
    """Return an error's first line without the parts that vary: numbers, paths, addresses."""
    line = text.strip().splitlines()[0] if text.strip() else ""
    return re.sub(r"(/\S+|0x[0-9a-f]+|\d+)", "#", line)[:200]
