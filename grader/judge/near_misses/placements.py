"""Diagnose right values that are on the wrong devices, printed differently, or too expensive to compute."""

import math
import re

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
    axes, right_axes = ([axis for axis, n in enumerate(pieces) if n > 1] for pieces in (a, b))
    if sorted(a) == sorted(b) and len(axes) == 1:
        return Message("split-along", {"axis": axes[0], "right": right_axes[0]})
    pieces, asked = math.prod(a), math.prod(b)
    if pieces == asked:
        return None  # the layouts, which are shown below, say it better
    return Message("fewer-pieces" if pieces < asked else "more-pieces", {"got": pieces, "expected": asked})


def cuts(x: Array) -> list[int]:
    """Return the number of pieces into which each dimension is split."""
    starts = [[bounds[axis][0] for bounds in x.where.values()] for axis in range(len(x.shape))]
    return [len(set(of_axis)) or 1 for of_axis in starts]


def printed(got: str, expected: str) -> Message | None:
    """Diagnose a wrong text that one process printed."""
    numbers, right = (re.findall(r"-?\d+(?:\.\d+)?(?:e[-+]?\d{1,3})?", text) for text in (got, expected))
    if not right:
        return None
    if len(numbers) == len(right) and all(_rounded(x, y) for x, y in zip(numbers, right, strict=True)):
        return Message("printed-digits")
    mine, asked = (re.sub(r"-?\d+(?:\.\d+)?", "#", text).split() for text in (got, expected))
    return Message("printed-numbers") if mine == asked else None


def _rounded(x: str, y: str) -> bool:
    """Return whether two numbers are equal, or one is the other rounded to fewer digits."""
    a, b = _last_digit(x), _last_digit(y)
    return abs(float(x) - float(y)) <= (0.0 if a == b else float(f"0.51e{max(a, b)}"))


def _last_digit(number: str) -> int:
    """Return the power of ten of the last digit: -2 for 3.25, -7 for 3.25e-05."""
    digits, _, exponent = number.partition("e")
    return int(exponent or 0) - len(digits.partition(".")[2])


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
