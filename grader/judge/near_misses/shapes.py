"""Diagnose arrays of an unexpected shape: each function gives one diagnosis, or None."""

import numpy as np

from grader.judge.near_misses import orders
from grader.judge.near_misses.pair import Pair
from grader.messages import Message


def reshaped(p: Pair) -> Message | None:
    """Diagnose the right numbers in the right order but in a different shape."""
    got, expected = p.got.shape, p.expected.shape
    if p.got.size != p.expected.size or not p.like(p.got.ravel(), p.expected.ravel()):
        return None
    if () in (got, expected) and not p.array:
        return None  # a number for a list of one, or such a list for a number: that is no axis
    only_ones = [n for n in got if n != 1] == [n for n in expected if n != 1]
    return Message("one-too-many" if only_ones and len(got) > len(expected) else "reshaped")


def stacked(p: Pair) -> Message | None:
    """Diagnose one dimension too many, along which the parts of a sum lie."""
    for axis in range(p.got.ndim):
        n = p.got.shape[axis]
        if n > 1 and p.like(p.got.sum(axis), p.expected):
            return Message("stack-sum", {"axis": axis, "n": n})
    return None


def is_stack_of_one(p: Pair) -> bool:
    """Return whether the result is right but for a further dimension of size 1, of which `stacked` says nothing."""
    return reshaped(p) == Message("one-too-many")


def unstacked(p: Pair) -> Message | None:
    """Diagnose a single entry along a dimension that is missing."""
    for axis in range(p.expected.ndim):
        parts = np.moveaxis(p.expected, axis, 0)
        for k, part in enumerate(parts):
            if len(parts) > 1 and (p.like(p.got, part) or p.like(p.got.squeeze(), part)):
                return Message("entry", {"axis": axis, "k": k, "n": len(parts)})
    return None


def other_order(p: Pair) -> Message | None:
    """Diagnose all the right numbers in a different order and shape."""
    if p.got.size != p.expected.size:
        return None
    flat = [x.reshape(-1, 1) for x in (p.got, p.expected)]
    return Message("other-order-shape") if orders.permutation(p, *flat) is not None else None


def flat(p: Pair) -> Message | None:
    """Diagnose an array with the right number of elements, but one dimension instead of several."""
    return Message("flat") if p.got.ndim == 1 < p.expected.ndim and p.got.size == p.expected.size else None


STRONG = [reshaped, orders.axes, stacked, unstacked, other_order]
WEAK = [flat]
