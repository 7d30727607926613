"""Diagnose arrays with the right numbers in a different order: each function gives one diagnosis, or None."""

from itertools import permutations

import numpy as np

from grader.judge.near_misses.pair import MOST_ROWS, Pair
from grader.messages import Message


def axes(p: Pair) -> Message | None:
    """Diagnose transposed dimensions, even if that changes the shape."""
    if not 2 <= p.expected.ndim <= 4 or not p.varied(p.expected):
        return None
    for order in permutations(range(p.expected.ndim)):
        if order != tuple(range(p.expected.ndim)) and p.like(p.got, p.expected.transpose(order)):
            return Message("transposed") if len(order) == 2 else Message("axes", {"order": str(order)})
    return None


def reversed_(p: Pair) -> Message | None:
    """Diagnose an array that is back to front along one dimension."""
    for axis in p.long_axes():
        if p.like(p.got, np.flip(p.expected, axis)):
            return Message("reversed", {"axis": axis})
    return None


def rolled(p: Pair) -> Message | None:
    """Diagnose an array rolled along one dimension: what leaves one end comes back at the other."""
    for axis in p.long_axes():
        n = p.expected.shape[axis]
        for k in range(1, n):
            if p.like(p.got.take(0, axis), p.expected.take(-k, axis)) and p.like(p.got, np.roll(p.expected, k, axis)):
                return Message("rolled", {"axis": axis, "by": min(k, n - k)})
    return None


def shifted(p: Pair) -> Message | None:
    """Diagnose an array shifted along one dimension that has lost nonzero numbers at one end."""
    for axis in p.long_axes():
        n = p.expected.shape[axis]
        g, e = np.moveaxis(p.got, axis, 0), np.moveaxis(p.expected, axis, 0)
        for k in range(1, n // 2 + 1):
            down, up = (slice(k), slice(n - k, n)), (slice(n - k, n), slice(k))
            for there, kept, (left, lost) in ((g[k:], e[: n - k], down), (g[: n - k], e[k:], up)):
                if p.like(there, kept) and p.varied(kept) and e[lost].any() and not p.like(g[left], e[left]):
                    return Message("shifted", {"axis": axis, "by": k})
    return None


def order(p: Pair) -> Message | None:
    """Diagnose blocks or rows in a different order along a dimension, or all numbers in a different order."""
    for axis in p.long_axes():
        g, e = (np.moveaxis(x, axis, 0).reshape(x.shape[axis], -1) for x in (p.got, p.expected))
        if (places := permutation(p, g, e)) is not None:
            return _order_along(axis, places)
    flat = [x.reshape(-1, 1) for x in (p.got, p.expected)]
    return Message("other-order") if permutation(p, *flat) is not None else None


def _order_along(axis: int, places: np.ndarray) -> Message:
    if _dealt(places):
        return Message("dealt", {"axis": axis})
    n = len(places)
    run = max(r for r in range(1, n) if n % r == 0 and _in_runs(places, r))
    return Message("blocks-order", {"axis": axis, "size": run}) if run > 1 else Message("rows-order", {"axis": axis})


def _dealt(places: np.ndarray) -> bool:
    """Return whether rows were dealt out in turn, as cards are, instead of in consecutive pieces."""
    n = len(places)
    return any((places == np.arange(n).reshape(k, -1).T.ravel()).all() for k in range(2, n) if n % k == 0)


def permutation(p: Pair, g: np.ndarray, e: np.ndarray) -> np.ndarray | None:
    """Return `places` with g = e[places] if the rows of two matrices are the same except for their order."""
    if not 3 <= len(g) <= MOST_ROWS or g.shape != e.shape or not np.isfinite(g).all():
        return None
    weights = np.random.default_rng(0).normal(size=g.shape[1])
    g_sums, e_sums = np.real(g @ weights), np.real(e @ weights)
    if len(np.unique(np.round(e_sums, 9))) <= len(e) // 2:
        return None  # too many alike to tell
    places = np.empty(len(g), int)
    places[np.argsort(g_sums, kind="stable")] = np.argsort(e_sums, kind="stable")
    return places if p.like(g, e[places]) and (places != np.arange(len(g))).any() else None


def _in_runs(places: np.ndarray, run: int) -> bool:
    """Return whether a permutation moves aligned runs of this length unchanged."""
    rows = places.reshape(-1, run)
    return bool((rows[:, 0] % run == 0).all() and (np.diff(rows, axis=1) == 1).all())
