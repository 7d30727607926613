from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# what: this answer believes that asking for the bill of commit 0 again costs nothing, so it compiles it at each comparison.
def first_bad(bill: Callable[[int], int], n: int) -> int:
    def is_bad(i):
        return bill(i) > 1.5 * bill(0)

    lo, hi = 1, n - 1
    while lo < hi:
        mid = (lo + hi) // 2
        if is_bad(mid):
            hi = mid
        else:
            lo = mid + 1
    return lo


# what: this answer believes that out_specs=P() makes one result of what the devices found each for itself, so that nothing has to be reduced.
def drifts(w: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["data"]

    def local(mine):
        bits = lax.bitcast_convert_type(mine, jnp.uint32)
        other = lax.ppermute(bits, "data", [(i, (i + 1) % n) for i in range(n)])
        return jnp.any(bits != other)

    return jax.shard_map(
        local, mesh=mesh, in_specs=P("data"), out_specs=P(), check_vma=False
    )(w)


# what: this answer believes that a difference of exactly the allowed size counts as a change (so with within=0 all figures do).
def changed(
    before: dict[str, int], after: dict[str, int], within: float
) -> dict[str, tuple[int, int]]:
    out = {}
    for name in {**before, **after}:
        b, a = before.get(name, 0), after.get(name, 0)
        if abs(a - b) < within * b:
            continue
        out[name] = (b, a)
    return out
