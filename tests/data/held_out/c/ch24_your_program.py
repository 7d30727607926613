from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# what: this answer believes that an all-reduce goes round the ring once, n - 1 pieces, as a reduce-scatter does.
def budget(bill: list[dict]) -> int:
    total = 0
    for c in bill:
        if c["op"] == "collective-permute":
            sent = c["bytes"]
        else:
            sent = c["bytes"] // c["devices"] * (c["devices"] - 1)
        total += sent * c["times"]
    return total


# what: this answer believes that only a figure that grew has changed.
def changed(
    before: dict[str, int], after: dict[str, int], within: float
) -> dict[str, tuple[int, int]]:
    out = {}
    for name in set(before) | set(after):
        b, a = before.get(name, 0), after.get(name, 0)
        if a - b > within * b:
            out[name] = (b, a)
    return out
