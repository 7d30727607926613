"""Arrays of another shape than expected: each function is one diagnosis, or None."""

import numpy as np

from grader.judge.near_misses import orders
from grader.judge.near_misses.pair import Pair
from grader.messages import Message

COMBINATIONS = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min}


def reshaped(p: Pair) -> Message | None:
    """The right numbers in the right order."""
    g, e = p.got.shape, p.expected.shape
    if p.got.size != p.expected.size or not p.like(p.got.ravel(), p.expected.ravel()):
        return None
    if (g == () or e == ()) and not p.array:
        return None  # a number for a list of one, or such a list for a number: that is no axis
    if [n for n in g if n != 1] == [n for n in e if n != 1]:
        return Message("one-too-many" if len(g) > len(e) else "one-too-few" if len(g) < len(e) else "one-elsewhere")
    if len(g) == len(e) + 1:
        return Message("still-cut")
    return Message("joined" if len(g) == len(e) - 1 else "reshaped")


def stacked(p: Pair) -> Message | None:
    """One axis too many, over which there are copies, parts of a sum, or all that is wanted in one place."""
    for axis in range(p.got.ndim):
        parts = np.moveaxis(p.got, axis, 0)
        n = len(parts)
        if parts.shape[1:] != p.expected.shape or n < 2:
            continue
        value = {"axis": axis, "n": n}
        if all(p.like(part, p.expected) for part in parts):
            return Message("stack-copies", value)
        for how, combine in COMBINATIONS.items():
            if p.like(combine(parts, axis=0), p.expected):
                return Message("stack-combine", {"how": Message(how)} | value)
        for k in range(n):
            if p.like(parts[k], p.expected):
                return Message("stack-one", {"k": k} | value)
    return None


def stack_of_one(p: Pair) -> bool:
    """Whether it is the right array with an axis of length 1 too many: of a stack this one says nothing."""
    return (said := reshaped(p)) is not None and said.key == "one-too-many"


def for_each_device(p: Pair) -> Message | None:
    """One axis too many, as long as there are devices; what is in it is not right either."""
    for axis, n in enumerate(p.got.shape):
        if n == p.setting.devices > 1 and (*p.got.shape[:axis], *p.got.shape[axis + 1 :]) == p.expected.shape:
            parts = np.moveaxis(p.got, axis, 0)
            same = all(p.like(part, parts[0]) for part in parts)
            return Message("stack-same" if same else "stack-devices", {"axis": axis, "n": n})
    return None


def unstacked(p: Pair) -> Message | None:
    """One axis too few: one entry of it, or all combined."""
    for axis in range(p.expected.ndim):
        parts = np.moveaxis(p.expected, axis, 0)
        n = len(parts)
        for got in {p.got.shape: p.got, p.got.squeeze().shape: p.got.squeeze()}.values():
            if parts.shape[1:] != got.shape or n < 2:
                continue
            for k in range(n):
                if p.like(got, parts[k]):
                    return Message("entry", {"axis": axis, "k": k, "n": n})
            for how, combine in COMBINATIONS.items():
                if p.like(got, combine(parts, axis=0)):
                    return Message("entry-combined", {"axis": axis, "how": Message(how)})
    return None


def longer(p: Pair) -> Message | None:
    """Too long along one axis: copies, or something before or after the right numbers."""
    if (axis := _one_axis(p)) is None:
        return None
    g, e = np.moveaxis(p.got, axis, 0), np.moveaxis(p.expected, axis, 0)
    n, more = len(e), len(g) - len(e)
    if more <= 0 or n == 0:
        return None
    if len(g) % n == 0 and all(p.like(x, e) for x in np.split(g, len(g) // n)):
        return Message("times-over", {"axis": axis, "times": len(g) // n})
    if len(g) % n == 0 and p.like(g, np.repeat(e, len(g) // n, axis=0)):
        return Message("times-over", {"axis": axis, "times": len(g) // n})
    for key, kept, extra in (("too-long", g[:n], g[n:]), ("too-long-front", g[more:], g[:more])):
        if p.like(kept, e):
            return Message(key + ("" if extra.any() else "-zeros"), {"axis": axis, "more": more})
    return None


def shorter(p: Pair) -> Message | None:
    """Too short along one axis: what one device holds, or the beginning, or the end."""
    if (axis := _one_axis(p)) is None:
        return None
    for n, (devices, block) in enumerate(p.pieces()):
        if p.like(p.got, p.expected[block]):
            return Message("piece-part", {"n": n}) if devices is None else Message("piece", {"device": devices[0]})
    g, e = np.moveaxis(p.got, axis, 0), np.moveaxis(p.expected, axis, 0)
    n, missing = len(g), len(e) - len(g)
    if missing > 0 and n > 0:
        if p.like(g, e[:n]):
            return Message("too-short", {"axis": axis, "missing": missing})
        if p.like(g, e[missing:]):
            return Message("too-short-front", {"axis": axis, "missing": missing})
    return None


def other_order(p: Pair) -> Message | None:
    """All the numbers, in another order and another shape."""
    if p.got.size != p.expected.size:
        return None
    flat = [x.reshape(-1, 1) for x in (p.got, p.expected)]
    return Message("other-order-shape") if orders.permutation(p, *flat) is not None else None


def times_the_devices(p: Pair) -> Message | None:
    """One axis is too long or too short by the number of devices."""
    if (axis := _one_axis(p)) is None:
        return None
    a, b, n = p.got.shape[axis], p.expected.shape[axis], p.setting.devices
    if n < 2 or b == 0 or a == 0:
        return None
    return (
        Message("axis-long", {"axis": axis, "n": n})
        if a == b * n
        else (Message("axis-short", {"axis": axis, "n": n}) if a * n == b else None)
    )


def flat(p: Pair) -> Message | None:
    """One axis, where there should be several, and as many numbers."""
    return Message("flat") if p.got.ndim == 1 < p.expected.ndim and p.got.size == p.expected.size else None


def _one_axis(p: Pair) -> int | None:
    """The only axis along which the shapes differ."""
    g, e = p.got.shape, p.expected.shape
    differ = [a for a, (m, n) in enumerate(zip(g, e, strict=False)) if m != n]
    return differ[0] if len(g) == len(e) and len(differ) == 1 else None


STRONG = [reshaped, orders.axes, stacked, unstacked, longer, shorter, other_order]
WEAK = [for_each_device, times_the_devices, flat]
