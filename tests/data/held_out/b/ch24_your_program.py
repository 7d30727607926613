from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# what: this answer believes that any bill other than that of commit 0 is a bad one.
def first_bad(bill: Callable[[int], int], n: int) -> int:
    base = bill(0)
    lo, hi = 1, n - 1
    while lo < hi:
        mid = (lo + hi) // 2
        if bill(mid) != base:
            hi = mid
        else:
            lo = mid + 1
    return lo


# what: this answer believes that a device to which a collective-permute sends nothing keeps its own value (it gets zeros), so that a chain without the way back is enough.
def drifts(w: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["data"]

    def local(mine):
        bits = lax.bitcast_convert_type(mine, jnp.uint32)
        left = lax.ppermute(bits, "data", [(i, i + 1) for i in range(n - 1)])
        differ = jnp.any(bits != left).astype(jnp.int32)
        return lax.pmax(differ, "data") == 1

    return jax.shard_map(local, mesh=mesh, in_specs=P("data"), out_specs=P())(w)


# what: this answer believes that the steps are numbered from the restart on.
def apart_after_restart(
    start: Callable[[], Any],
    step: Callable[[Any, Any], tuple[Any, float]],
    save: Callable[[Any], str],
    load: Callable[[str], Any],
    batches: list,
    at: int,
) -> int:
    state = start()
    whole = []
    for batch in batches:
        state, loss = step(state, batch)
        whole.append(loss)

    state = start()
    for batch in batches[:at]:
        state, _ = step(state, batch)
    state = load(save(state))
    for i, (batch, want) in enumerate(zip(batches[at:], whole[at:])):
        state, loss = step(state, batch)
        if abs(loss - want) > 1e-9 * abs(want):
            return i
    return -1


# what: this answer believes that only figures that were there before can have changed, so it leaves out the new names.
def changed(
    before: dict[str, int], after: dict[str, int], within: float
) -> dict[str, tuple[int, int]]:
    return {
        name: (old, after.get(name, 0))
        for name, old in before.items()
        if abs(after.get(name, 0) - old) > within * old
    }
