"""Diagnose right values that are on the wrong devices, printed differently, or too expensive to compute."""

import math
import re
from collections.abc import Sequence

from grader.exercise.spec import Budget
from grader.messages import Message, number
from grader.see.array_values import Array
from grader.see.observation import Traffic
from grader.see.values import Value


def placement(got: Value | None, expected: Value | None) -> Message | None:
    """Diagnose the placement of an array whose values are right."""
    if not (isinstance(got, Array) and got.jax and isinstance(expected, Array)):
        return Message("host-copy")
    mine, right = got.where, expected.where
    a, b = cuts(got), cuts(expected)
    values: dict[str, object] = {"got": len(mine), "expected": len(right), "device": next(iter(mine), 0)}
    if len(mine) == 1:
        return Message("all-on-one" if len(right) > 1 else "on-another", values)
    if len(right) == 1:
        return Message("not-on-one", values)
    if math.prod(a) == 1 < math.prod(b):
        return Message("copies-not-split", values)
    if math.prod(b) == 1 < math.prod(a):
        return Message("split-not-copies", values)
    if mine.keys() != right.keys():
        return None  # which device holds what is shown below
    if a == b:
        return Message("device-order")
    if sorted(a) == sorted(b):
        axes, right_axes = _axes(a), _axes(b)
        return Message("split-along", {"axes": axes, "right": right_axes}) if axes != right_axes else None
    pieces, asked = math.prod(a), math.prod(b)
    return Message("fewer-pieces" if pieces < asked else "more-pieces", {"got": pieces, "expected": asked})


def cuts(x: Array) -> list[int]:
    """Return the number of pieces into which each dimension is split."""
    starts = [[bounds[axis][0] for bounds in x.where.values()] for axis in range(len(x.shape))]
    return [len(set(of_axis)) or 1 for of_axis in starts]


def _axes(pieces: Sequence[int]) -> str:
    return ", ".join(str(axis) for axis, n in enumerate(pieces) if n > 1)


def printed(got: str, expected: str) -> Message | None:
    """Diagnose a wrong text that one process printed."""
    numbers, right = (re.findall(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?", text) for text in (got, expected))
    if not right:
        return None
    if len(numbers) == len(right) and all(_rounded(x, y) for x, y in zip(numbers, right, strict=True)):
        return Message("printed-digits")
    mine, asked = (re.sub(r"-?\d+(?:\.\d+)?", "#", text).split() for text in (got, expected))
    return Message("printed-numbers") if mine == asked else None


def _rounded(x: str, y: str) -> bool:
    digits = min(len(t.partition(".")[2]) for t in (x, y))
    return abs(float(x) - float(y)) <= 1.01 * 10.0**-digits


def budget(traffic: Traffic, limit: Budget, solution: Traffic) -> Message | None:
    """Diagnose a program that exceeds its budget. solution: what the solution's program sends."""
    total = traffic.total or 0
    used = {transfer.op for transfer in traffic.transfers}
    other = sorted(used - limit.ops)
    if not limit.ops or not limit.sent:
        return None  # that nothing may be sent is said below
    if other:
        if used == {"all-gather"} and "all-reduce" in limit.ops and total > limit.sent:
            return Message("budget-gather")
        key = "budget-op-fits" if total <= limit.sent else "budget-op"
        return Message(key, {"op": other[0], "right": (*sorted(limit.ops),)})
    if traffic.count > solution.count:
        return Message("budget-more", {"count": traffic.count, "enough": solution.count})
    times = total / limit.sent
    if times >= 2:
        return Message("budget-times", {"times": number(times)})
    return Message("budget-bytes", {"more": number(total - limit.sent)})
