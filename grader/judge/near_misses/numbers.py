"""Diagnose arrays of the right shape with wrong numbers: each function gives one diagnosis, or None."""

from collections.abc import Callable
from typing import Any

import numpy as np

from grader.judge.near_misses import changes, orders, where
from grader.judge.near_misses.pair import Pair
from grader.messages import Message

FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "square": np.square,
    "1 / x": np.reciprocal,
}


def not_finite(p: Pair) -> Message | None:
    """Diagnose NaN or infinities where there should be none."""
    bad = ~np.isfinite(p.got) & np.isfinite(p.expected)
    if not bad.any():
        return None
    kinds = (("nan", np.isnan(p.got[bad]).any()), ("inf", np.isinf(p.got[bad]).any()))
    kind = "/".join(name for name, found in kinds if found)
    if bad.all():
        return Message("not-finite-all", {"kind": kind})
    first = np.argwhere(bad)[0]
    values = {"kind": kind, "bad": int(bad.sum()), "all": bad.size, "at": f"[{', '.join(map(str, first))}]"}
    others_differ = (p.apart(p.got, p.expected) & ~bad).any()
    return Message("not-finite" if others_differ else "not-finite-only", values)


def factor(p: Pair) -> Message | None:
    """Diagnose numbers that are right up to a factor."""
    c = factor_of(p)
    return None if c is None else meaning_of_factor(c, p)


def factor_of(p: Pair) -> float | None:
    """Return the factor between the numbers and the right ones; None if there is none."""
    if not np.any(p.expected) or not np.isfinite(p.expected).all():
        return None
    most = np.unravel_index(np.argmax(np.abs(p.expected)), p.expected.shape)
    c = (p.got[most] / p.expected[most]).item()
    if c == 0 or not np.isfinite(c) or not p.like(p.got / c, p.expected) or p.like(p.got, p.expected):
        return None
    if isinstance(c, complex) and abs(c.imag) > p.tolerance * abs(c):
        return None
    return c.real


def meaning_of_factor(c: float, p: Pair) -> Message | None:
    """Return what a factor of c may mean."""
    near = max(p.tolerance, 1e-6)
    if abs(c + 1) <= near:
        return Message("sign")
    for key, n, more in _counts(p):
        if abs(c - n) <= near * n:
            return Message(f"times-{key}", {"n": n} | more)
        if abs(c * n - 1) <= near:
            return Message(f"part-{key}", {"n": n} | more)
    return Message("times", {"c": ratio(c, near)}) if p.expected.size == 1 or p.varied(p.expected) else None


def _counts(p: Pair) -> list[tuple[str, int, dict[str, Any]]]:
    """Return the counts from which a factor may come, the likeliest first."""
    setting = p.setting
    counts: list[tuple[str, int, dict[str, Any]]] = [
        ("devices", setting.devices, {}),
        ("processes", setting.processes, {}),
    ]
    if len(setting.axes) > 1:
        counts += [("axis", size, {"axis": name}) for name, size in setting.axes.items()]
    return [(key, n, more) for key, n, more in counts if n > 1]


def ratio(c: float, near: float) -> str:
    """Format a factor so that it is easy to read: 3, 1/3, 0.75, 1.00002."""
    back = 1 / c
    if abs(c) < 1 and abs(back - round(back)) <= near * abs(back) and abs(back) < 1e6:
        return f"1/{round(back)}" if back > 0 else f"-1/{round(-back)}"
    text = f"{c:.4g}"
    return f"{c:.8g}" if text in ("1", "-1") else text


def off_by_one(p: Pair) -> Message | None:
    """Diagnose integers that are all too large by one, or all too small by one."""
    if not p.whole or not p.got.size or not (p.varied(p.expected) or p.expected.size == 1):
        return None
    d = p.got - p.expected
    if (d == 1).all():
        return Message("one-more")
    return Message("one-less") if (d == -1).all() else None


def combined(p: Pair) -> Message | None:
    """Diagnose blocks that are each the sum of all the right blocks."""
    blocks = [block for _, block in p.pieces()]
    if len({p.expected[b].shape for b in blocks}) != 1 or not p.expected.size:
        return None
    total = np.sum([p.expected[b] for b in blocks], axis=0)
    return Message("combined") if all(p.like(p.got[b], total) for b in blocks) else None


def precision(p: Pair) -> Message | None:
    """Diagnose numbers that are close to the right ones, as after rounding to a narrower dtype."""
    scale = float(np.max(np.abs(p.expected), initial=0.0))
    if p.whole or not scale or not np.isfinite(p.got).all():
        return None
    far = float(np.max(np.abs(p.got - p.expected))) / scale
    return Message("precision", {"far": f"{far:.0e}"}) if 1e-4 < far <= 1e-2 else None


def function(p: Pair) -> Message | None:
    """Diagnose numbers that are right except for one of the usual functions at the end."""
    if p.got.dtype.kind == "c":
        return None
    for name, f in FUNCTIONS.items():
        if p.like(f(p.got), p.expected):
            return Message("function-missing", {"name": name})
        if p.like(p.got, f(p.expected)):
            return Message("function-extra", {"name": name})
    return None


def order_of_indices(p: Pair) -> Message | None:
    """Diagnose indices in a different order if each occurs once; otherwise they say little apart from their order."""
    return orders.order(p) if np.unique(p.expected).size == p.expected.size else None


STRONG = [
    not_finite, factor, off_by_one, *changes.STRONG, orders.axes, orders.reversed_, orders.rolled, combined,
    orders.order, orders.shifted, precision, function,
]  # fmt: skip
WEAK = [where.some]
# What may be said of numbers that are no data: twice an index, or an id too large by one, means nothing.
OF_INDICES = [off_by_one, orders.reversed_, orders.rolled, order_of_indices, orders.shifted]
OF_IDS = [orders.reversed_, orders.rolled, orders.order, orders.shifted]
OF_AMOUNTS = [not_finite, factor, off_by_one, orders.axes, orders.reversed_, orders.rolled, orders.order]
