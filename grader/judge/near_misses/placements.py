"""Right values in the wrong place, printed by the wrong process, or sent at too high a cost: what it looks like."""

import math
import re
from collections.abc import Sequence

from grader.exercise.spec import Budget
from grader.messages import Message, number
from grader.see.array_values import Array
from grader.see.observation import Traffic
from grader.see.values import Value


def placement(got: Value | None, expected: Value | None) -> Message | None:
    """Of an array whose values are right."""
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
    if len(mine) != len(right):
        return Message("fewer-devices" if len(mine) < len(right) else "more-devices", values)
    values |= {"axes": _axes(a), "right": _axes(b)}
    if mine.keys() != right.keys():
        return Message("other-devices", values) if a == b else None
    if a == b:
        return Message("device-order", values)
    if sorted(a) == sorted(b) and values["axes"] == values["right"]:
        return Message("split-into", values | {"got": _times(a), "expected": _times(b)})
    if sorted(a) == sorted(b):
        return Message("split-along", values)
    few = math.prod(a) < math.prod(b)
    return Message("fewer-pieces" if few else "more-pieces", values | {"got": math.prod(a), "expected": math.prod(b)})


def cuts(x: Array) -> list[int]:
    """Into how many pieces each axis is cut."""
    starts = [[bounds[axis][0] for bounds in x.where.values()] for axis in range(len(x.shape))]
    return [len(set(of_axis)) or 1 for of_axis in starts]


def _axes(pieces: Sequence[int]) -> str:
    return ", ".join(str(axis) for axis, n in enumerate(pieces) if n > 1)


def _times(pieces: Sequence[int]) -> str:
    return " × ".join(map(str, pieces))


def printed(got: list[str], expected: list[str], place: int) -> Message | None:
    """Of text printed in every process; place: the process meant."""
    mine, right = got[place], expected[place]
    others = [text for n, text in enumerate(expected) if n != place]
    if not right and mine in others:
        key = "printed-twice" if all(t == mine for t in got) else "printed-elsewhere"
        return Message(key, {"right": expected.index(mine), "process": place})
    if not mine and right:
        return Message("printed-elsewhere", {"right": place, "process": got.index(right)}) if right in got else None
    if not right:
        return Message("printed-too-much")
    if "".join(mine.split()) == "".join(right.split()):
        return Message("printed-spaces")
    if mine.casefold() == right.casefold():
        return Message("printed-case")
    a, b = (re.findall(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?", text) for text in (mine, right))
    lines, wanted = mine.splitlines(), right.splitlines()
    if sorted(lines) == sorted(wanted):
        return Message("printed-order")
    for key, more, less in (("printed-more", lines, wanted), ("printed-less", wanted, lines)):
        if less and len(more) > len(less) and _within(less, more):
            return Message(key + ("-one" if len(more) == len(less) + 1 else ""), {"k": len(more) - len(less)})
    if b and a == b:
        return Message("printed-words")
    if b and len(a) == len(b) and all(_rounded(x, y) for x, y in zip(a, b, strict=True)):
        return Message("printed-digits")
    words = [re.sub(r"-?\d+(?:\.\d+)?", "#", text).split() for text in (mine, right)]
    return Message("printed-numbers") if b and words[0] == words[1] else None


def _within(less: list[str], more: list[str]) -> bool:
    rest = iter(more)
    return all(line in rest for line in less)


def _rounded(x: str, y: str) -> bool:
    digits = min(len(t.partition(".")[2]) for t in (x, y))
    return abs(float(x) - float(y)) <= 1.01 * 10.0**-digits


def budget(traffic: Traffic, limit: Budget, solution: Traffic, devices: int) -> Message | None:
    """Of a program that is over its budget. solution: what the solution's program sends."""
    total = traffic.total or 0
    used = {transfer.op for transfer in traffic.transfers}
    other = sorted(used - limit.ops)
    if not limit.ops or not limit.sent:
        return Message("budget-none", {"op": other[0] if other else next(iter(used), "")})
    if other:
        if used == {"all-gather"} and "all-reduce" in limit.ops and total > limit.sent:
            return Message("budget-gather")
        key = "budget-op-fits" if total <= limit.sent else "budget-op"
        return Message(key, {"op": other[0], "right": sorted(limit.ops)[0]})
    count, enough = traffic.count, solution.count
    loop = max((transfer.times or 0 for transfer in traffic.transfers), default=1)
    if loop > max(enough, 1) and not any((transfer.times or 0) > 1 for transfer in solution.transfers):
        return Message("budget-loop", {"times": loop})
    if total == limit.sent * devices and count <= enough:
        return Message("budget-devices", {"n": devices})
    if count > enough:
        return Message("budget-more" if enough > 1 else "budget-more-one", {"count": count, "enough": enough})
    times = total / limit.sent
    if times >= 2:
        return Message("budget-times", {"times": f"{times:.3g}"})
    return Message("budget-bytes", {"more": number(total - limit.sent)})
