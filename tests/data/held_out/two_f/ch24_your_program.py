from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp  # noqa: F401
from jax import P, lax  # noqa: F401
from jax.sharding import Mesh


# what: (1) believes that an all-reduce goes round the ring once, like the others + (2) believes that in a permute too a device keeps its own n-th.
def budget(bill: list[dict]) -> int:
    total = 0
    for entry in bill:
        n = entry["devices"]
        leaves = entry["bytes"] // n * (n - 1)
        total += leaves * entry["times"]
    return total


# what: (1) compares the devices two by two, 0 with 1, 2 with 3, and so on, which says nothing about two pairs + (2) compares floats, where nan is unlike itself and -0.0 is like 0.0.
def drifts(w: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["data"]
    pairs = [(i, i ^ 1 if i ^ 1 < n else i) for i in range(n)]

    def local(mine):
        other = lax.ppermute(mine, "data", pairs)
        differ = jnp.any(mine != other)
        return lax.psum(differ.astype(jnp.int32), "data") > 0

    return jax.shard_map(local, mesh=mesh, in_specs=P("data"), out_specs=P())(w)


# what: (1) believes that only figures in both can have changed + (2) believes that only growth is a change to report.
def changed(
    before: dict[str, int], after: dict[str, int], within: float
) -> dict[str, tuple[int, int]]:
    common = before.keys() & after.keys()
    return {
        name: (before[name], after[name])
        for name in sorted(common)
        if after[name] > before[name] * (1 + within)
    }
