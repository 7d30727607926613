"""Right values in the wrong place, printed by the wrong process, or sent at too high a cost: what it looks like."""

import math
import re
from collections.abc import Sequence
from typing import Any

from grader.judge.near_misses.pair import Saying


def placement(got: Any, expected: Any) -> Saying | None:
    """Of an array whose values are right."""
    if not got.get("jax"):
        return "host-copy", {}
    mine, right = (dict(map(tuple, x.get("where", []))) for x in (got, expected))
    a, b = cuts(got), cuts(expected)
    values = {"got": len(mine), "expected": len(right), "device": next(iter(mine), 0)}
    if len(mine) == 1:
        return "all-on-one" if len(right) > 1 else "on-another", values
    if len(right) == 1:
        return "not-on-one", values
    if math.prod(a) == 1 < math.prod(b):
        return "copies-not-split", values
    if math.prod(b) == 1 < math.prod(a):
        return "split-not-copies", values
    if len(mine) != len(right):
        return "fewer-devices" if len(mine) < len(right) else "more-devices", values
    values |= {"axes": _axes(a), "right": _axes(b)}
    if mine.keys() != right.keys():
        return ("other-devices", values) if a == b else None
    if a == b:
        return "device-order", values
    if sorted(a) == sorted(b):
        return "split-along", values
    few = math.prod(a) < math.prod(b)
    return "fewer-pieces" if few else "more-pieces", values | {"got": math.prod(a), "expected": math.prod(b)}


def cuts(x: Any) -> list[int]:
    """Into how many pieces each axis is cut."""
    starts = [[block[axis][0] for _, block in x.get("where", [])] for axis in range(len(x["shape"]))]
    return [len(set(of_axis)) or 1 for of_axis in starts]


def _axes(pieces: Sequence[int]) -> str:
    return ", ".join(str(axis) for axis, n in enumerate(pieces) if n > 1)


def printed(got: list[str], expected: list[str], place: int) -> Saying | None:
    """Of text printed in every process; place: the process meant."""
    mine, right = got[place], expected[place]
    others = [text for n, text in enumerate(expected) if n != place]
    if not right and mine in others:
        key = "printed-twice" if all(t == mine for t in got) else "printed-elsewhere"
        return key, {"right": expected.index(mine), "process": place}
    if not mine and right:
        return ("printed-elsewhere", {"right": place, "process": got.index(right)}) if right in got else None
    if not right:
        return "printed-too-much", {}
    if "".join(mine.split()) == "".join(right.split()):
        return "printed-spaces", {}
    if mine.casefold() == right.casefold():
        return "printed-case", {}
    a, b = (re.findall(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?", text) for text in (mine, right))
    lines, wanted = mine.splitlines(), right.splitlines()
    if sorted(lines) == sorted(wanted):
        return "printed-order", {}
    for key, more, less in (("printed-more", lines, wanted), ("printed-less", wanted, lines)):
        if less and len(more) > len(less) and _within(less, more):
            return key + ("-one" if len(more) == len(less) + 1 else ""), {"k": len(more) - len(less)}
    if b and a == b:
        return "printed-words", {}
    if b and len(a) == len(b) and all(_rounded(x, y) for x, y in zip(a, b, strict=True)):
        return "printed-digits", {}
    words = [re.sub(r"-?\d+(?:\.\d+)?", "#", text).split() for text in (mine, right)]
    return ("printed-numbers", {}) if b and words[0] == words[1] else None


def _within(less: list[str], more: list[str]) -> bool:
    rest = iter(more)
    return all(line in rest for line in less)


def _rounded(x: str, y: str) -> bool:
    digits = min(len(t.partition(".")[2]) for t in (x, y))
    return abs(float(x) - float(y)) <= 1.01 * 10.0**-digits


def budget(facts: dict[str, Any], solution: list[Any], devices: int) -> Saying | None:
    """Of a program that is over its budget. facts: of the verdict; solution: what the solution's program sends."""
    bill, ops, most = facts["traffic"], set(facts["ops"]), facts["bytes"]
    used = {op for op, _, _ in bill}
    other = sorted(used - ops)
    if not ops or not most:
        return "budget-none", {"op": other[0] if other else next(iter(used), "")}
    if other:
        if other == ["all-gather"] and "all-reduce" in ops:
            return "budget-gather", {}
        fits = sum(size * times for _, size, times in bill) <= most
        allowed = sorted(ops)[0]
        return "budget-op-fits" if fits else "budget-op", {"op": other[0], "right": allowed}
    count, enough = (sum(times for _, _, times in b) for b in (bill, solution))
    loop = max((times for _, _, times in bill), default=1)
    if loop > 1 and not any(times > 1 for _, _, times in solution):
        return "budget-loop", {"times": loop}
    if facts["total"] == most * devices and count <= enough:
        return "budget-devices", {"n": devices}
    if count > enough:
        return "budget-more" if enough > 1 else "budget-more-one", {"count": count, "enough": enough}
    times = facts["total"] / most
    return (
        ("budget-times", {"times": f"{times:.3g}"}) if times >= 2 else ("budget-bytes", {"more": facts["total"] - most})
    )
