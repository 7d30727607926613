from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# what: (1) in a permute, too, a device keeps an n-th of the bytes + (2) an all-reduce goes round the ring once, as an all-gather does.
def budget(bill: list[dict]) -> int:
    sent = 0
    for entry in bill:
        n = entry["devices"]
        sent += entry["times"] * (entry["bytes"] * (n - 1) // n)
    return sent


# what: (1) numbers that compare equal have the same bits + (2) it is enough that devices compare in pairs, 0 with 1, 2 with 3, and so on.
def drifts(w: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["data"]
    partner = [(i, i ^ 1 if i ^ 1 < n else i) for i in range(n)]

    def local(row):
        other = lax.ppermute(row, "data", partner)
        unequal = jnp.sum((row != other).astype(jnp.int32))
        return lax.psum(unequal, "data") > 0

    return jax.shard_map(local, mesh=mesh, in_specs=P("data"), out_specs=P())(w)


# what: (1) a figure that only one side has was not changed, it is new or gone + (2) only a figure that grew is a change to report.
def changed(
    before: dict[str, int], after: dict[str, int], within: float
) -> dict[str, tuple[int, int]]:
    found = {}
    for name, old in before.items():
        if name in after and after[name] - old > within * old:
            found[name] = (old, after[name])
    return found
