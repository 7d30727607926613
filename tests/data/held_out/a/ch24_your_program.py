from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# what: this answer believes that on a ring a part of an all-to-all is sent again by every device it passes, so that one device sends 1 + 2 + ... + (n - 1) parts.
def budget(bill: list[dict]) -> int:
    total = 0
    for c in bill:
        n, size = c["devices"], c["bytes"]
        part = size // n
        if c["op"] == "all-reduce":
            sent = 2 * (n - 1) * part
        elif c["op"] in ("all-gather", "reduce-scatter"):
            sent = (n - 1) * part
        elif c["op"] == "all-to-all":
            sent = sum(hops * part for hops in range(1, n))
        else:
            sent = size
        total += sent * c["times"]
    return total


# what: this answer believes that comparing floats with != compares their bits (NaN and -0.0 are forgotten).
def drifts(w: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["data"]

    def local(mine):
        other = lax.ppermute(mine, "data", [(i, (i + 1) % n) for i in range(n)])
        differ = jnp.any(mine != other).astype(jnp.int32)
        return lax.psum(differ, "data") > 0

    return jax.shard_map(local, mesh=mesh, in_specs=P("data"), out_specs=P())(w)


# what: this answer believes that the allowed fraction is one of the larger of the two figures.
def changed(
    before: dict[str, int], after: dict[str, int], within: float
) -> dict[str, tuple[int, int]]:
    out = {}
    for name in before.keys() | after.keys():
        b, a = before.get(name, 0), after.get(name, 0)
        if abs(a - b) > within * max(a, b):
            out[name] = (b, a)
    return out
