"""Arrays of the right shape with wrong numbers: each function is one diagnosis, or None."""

from collections.abc import Callable
from typing import Any

import numpy as np

from grader.judge.near_misses import changes, elementwise, orders, where
from grader.judge.near_misses.pair import Pair
from grader.messages import Message


def not_finite(p: Pair) -> Message | None:
    """NaN or infinities where there should be none."""
    bad = ~np.isfinite(p.got) & np.isfinite(p.expected)
    if not bad.any():
        return None
    kind = "nan" if np.isnan(p.got[bad]).any() else "inf"
    if bad.all():
        return Message("not-finite-all" if bad.size > 1 else "not-finite-one", {"kind": kind})
    count = {"kind": kind, "bad": int(bad.sum()), "all": bad.size, "at": where.at(np.argwhere(bad)[0])}
    return Message("not-finite" + ("" if (p.apart(p.got, p.expected) & ~bad).any() else "-only"), count)


def zeros(p: Pair) -> Message | None:
    """Nothing but zeros; of an array of one number it says nothing, nor of whole ones: 0 may be somebody's number."""
    mute = p.got.size == 1 if p.array else p.whole
    return None if p.got.any() or mute else Message("zeros")


def factor(p: Pair) -> Message | None:
    """Right up to a factor."""
    c = factor_of(p)
    return None if c is None else factor_words(c, p)


def factor_of(p: Pair) -> float | None:
    """The factor up to which it is right; None where there is none."""
    if not np.any(p.expected) or not np.isfinite(p.expected).all():
        return None
    most = np.unravel_index(np.argmax(np.abs(p.expected)), p.expected.shape)
    c = (p.got[most] / p.expected[most]).item()
    if c == 0 or not np.isfinite(c) or not p.like(p.got / c, p.expected) or p.like(p.got, p.expected):
        return None
    if isinstance(c, complex) and abs(c.imag) > p.tolerance * abs(c):
        return None
    return c.real


def factor_words(c: float, p: Pair) -> Message | None:
    """What a factor of c may mean."""
    near = max(p.tolerance, 1e-6)
    if abs(c + 1) <= near:
        return Message("sign")
    for key, n, more in factors_with_a_meaning(p):
        if abs(c - n) <= near * n:
            return Message(f"times-{key}", {"n": n} | more)
        if abs(c * n - 1) <= near:
            return Message(f"part-{key}", {"n": n} | more)
    return Message("times", {"c": ratio(c, near)}) if p.expected.size == 1 or p.varied(p.expected) else None


def factors_with_a_meaning(p: Pair) -> list[tuple[str, int, dict[str, Any]]]:
    """The numbers that a factor may come from, the likeliest first."""
    s = p.setting
    found: list[tuple[str, int, dict[str, Any]]] = [("devices", s.devices, {})]
    if s.processes > 1:
        found += [("processes", s.processes, {}), ("own-devices", s.devices // s.processes, {})]
    if len(s.axes) > 1:
        found += [("axis", size, {"axis": name}) for name, size in s.axes.items()]
    if p.whole:
        found += [("itemsize", size, {}) for size in sorted(s.itemsizes)]
    return [(key, n, more) for key, n, more in found if n > 1]


def constant(p: Pair) -> Message | None:
    """Right up to a number added everywhere."""
    d = p.got - p.expected
    if d.size == 0 or not np.isfinite(d).all() or not p.like(p.got - d.flat[0], p.expected):
        return None
    if not (p.varied(p.expected) or p.expected.size == 1) or abs(d.flat[0]) <= 10 * p.slack:
        return None
    size = abs(d.flat[0])
    if p.whole and size == 1:
        return Message("one-more" if d.flat[0].real > 0 else "one-less")
    return Message("more" if d.flat[0].real > 0 else "less", {"d": f"{size:.4g}"})


def wrapped(p: Pair) -> Message | None:
    """Whole numbers, each right but for a multiple of 2^32, which 32 bits do not hold."""
    if not p.whole or not (np.abs(p.expected) >= 2**31).any():
        return None
    d = (p.got - p.expected).ravel().tolist()
    return Message("wrapped") if all(float(x).is_integer() and int(x) % 2**32 == 0 for x in d) else None


def all_equal(p: Pair) -> Message | None:
    """One number everywhere, where they should differ."""
    return Message("all-equal") if p.got.size > 2 and p.varied(p.expected) and not p.varied(p.got) else None


def of_one_device(p: Pair) -> Message | None:
    """Every block is what one device should hold."""
    pieces = p.pieces()
    for n, (devices, block) in enumerate(pieces):
        one = p.expected[block]
        if one.size and all(p.like(p.got[other], one) for _, other in pieces):
            if devices is None:
                return Message("one-part-everywhere", {"n": n})
            return Message("one-everywhere", {"device": devices[0]})
    return None


def combined(p: Pair) -> Message | None:
    """Every block is the sum, the mean or the maximum of what all blocks should be."""
    blocks = [block for _, block in p.pieces()]
    if len({p.expected[b].shape for b in blocks}) != 1 or not p.expected.size:
        return None
    return _combination(p, np.stack([p.expected[b] for b in blocks]), [p.got[b] for b in blocks], "combined")


def _combination(p: Pair, several: np.ndarray, ones: list[np.ndarray], key: str) -> Message | None:
    reductions: dict[str, Callable[..., np.ndarray]] = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min}
    for name, function in reductions.items():
        if all(p.like(one, function(several, axis=0)) for one in ones):
            return Message(key, {"how": Message(name)})
    return None


def precision(p: Pair) -> Message | None:
    """Close: what rounding to a narrower dtype does."""
    scale = float(np.max(np.abs(p.expected), initial=0.0))
    if p.whole or not scale or not np.isfinite(p.got).all():
        return None
    far = float(np.max(np.abs(p.got - p.expected))) / scale
    if far > 1e-2:
        return None
    return Message("precision" if far > 1e-4 else "precision-fine", {"far": f"{far:.0e}"})


def signs(p: Pair) -> Message | None:
    """Some numbers have the other sign."""
    if p.got.size > 2 and p.like(np.abs(p.got), np.abs(p.expected)):
        return Message("signs", {"bad": int(p.apart(p.got, p.expected).sum()), "all": p.got.size})
    return None


def cut(p: Pair) -> Message | None:
    """Cut or rounded to whole numbers."""
    if p.got.size > 2 and p.got.dtype.kind == "f" and (p.got == np.round(p.got)).all():
        if any((p.got == f(p.expected)).all() for f in (np.trunc, np.round, np.floor, np.ceil)):
            return Message("whole")
    return None


def term(p: Pair) -> Message | None:
    """What is missing, or too much, is the same along some axes: as a bias that was forgotten."""
    d = p.got - p.expected
    if d.dtype.kind == "c" or not np.isfinite(d).all() or np.max(np.abs(d)) <= 100 * p.slack:
        return None
    for key, x in (("same-term", d), ("same-factor", p.got / np.where(p.expected == 0, np.nan, p.expected))):
        if not np.isfinite(x).all() or not x.all():
            continue
        if key == "same-factor" and np.ptp(x) <= 4 * p.tolerance * np.max(np.abs(x)):
            continue  # one factor for all: `times` says which
        allowed = 4 * max(p.slack if key == "same-term" else p.tolerance * np.max(np.abs(x)), 1e-12)
        vary = [a for a in p.long_axes(3) if np.max(np.ptp(p.expected, axis=a)) > allowed]  # else it says nothing
        same = [a for a in vary if np.max(np.ptp(x, axis=a)) <= allowed]
        if same:
            return Message(key, {"axis": same[0]})
    return None


def order_of_indices(p: Pair) -> Message | None:
    """Indices in another order, where each comes once: else there is little in them but their order."""
    return orders.order(p) if np.unique(p.expected).size == p.expected.size else None


def ratio(c: float, near: float) -> str:
    """A factor as it is best read: 3, 1/3, 0.75."""
    back = 1 / c
    if abs(c) < 1 and abs(back - round(back)) <= near * abs(back) and abs(back) < 1e6:
        return f"1/{round(back)}" if back > 0 else f"-1/{round(-back)}"
    return f"{c:.4g}"


STRONG = [
    not_finite, wrapped, zeros, factor, constant, *changes.STRONG, orders.axes, orders.reversed_, orders.rolled,
    of_one_device, combined, orders.order, orders.shifted, all_equal, precision, signs, cut,
    elementwise.function, term,
]  # fmt: skip
WEAK = [where.some]
# What may be said of numbers that are no data: twice an index, or an id too large by one, means nothing.
OF_INDICES = [constant, orders.reversed_, orders.rolled, of_one_device, order_of_indices, orders.shifted]
OF_IDS = [orders.reversed_, orders.rolled, of_one_device, orders.order, orders.shifted]
OF_AMOUNTS = [
    not_finite,
    wrapped,
    factor,
    constant,
    orders.axes,
    orders.reversed_,
    orders.rolled,
    of_one_device,
    orders.order,
]
