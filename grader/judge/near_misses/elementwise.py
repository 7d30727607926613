"""A function of one number that is missing, or too much: each is right after it, or was right before it."""

from collections.abc import Callable

import numpy as np

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


def function(p: Pair) -> Message | None:
    """Right but for one of the usual functions at the end."""
    if p.got.dtype.kind == "c":
        return None
    for name, f in FUNCTIONS.items():
        if p.like(f(p.got), p.expected):
            return Message("function-missing", {"name": name})
        if p.like(p.got, f(p.expected)):
            return Message("function-extra", {"name": name})
    return None
