from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# style: a plain loop with one branch for each kind of collective
def budget(bill: list[dict]) -> int:
    total = 0
    for c in bill:
        n = c["devices"]
        part = c["bytes"] // n
        if c["op"] == "all-reduce":
            sent = 2 * (n - 1) * part
        elif c["op"] == "collective-permute":
            sent = c["bytes"]
        else:
            sent = (n - 1) * part
        total += c["times"] * sent
    return total


# style: bisection by hand, with the last good and the first bad commit known
def first_bad(bill: Callable[[int], int], n: int) -> int:
    base = bill(0)
    good, bad = 0, n - 1
    while bad - good > 1:
        mid = (good + bad) // 2
        if bill(mid) > 1.5 * base:
            bad = mid
        else:
            good = mid
    return bad


# style: bits are sent once round the ring, the verdicts are summed as int32
def drifts(w: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["data"]
    ring = [(i, (i + 1) % n) for i in range(n)]

    def local(mine):
        bits = lax.bitcast_convert_type(mine, jnp.uint32)
        left = lax.ppermute(bits, "data", ring)
        differ = jnp.any(bits != left).astype(jnp.int32)
        return lax.psum(differ, "data") > 0

    return jax.shard_map(local, mesh=mesh, in_specs=P("data"), out_specs=P())(w)


# style: two whole trainings one after the other, each from its own start()
def apart_after_restart(
    start: Callable[[], Any],
    step: Callable[[Any, Any], tuple[Any, float]],
    save: Callable[[Any], str],
    load: Callable[[str], Any],
    batches: list,
    at: int,
) -> int:
    state = start()
    want = []
    for batch in batches:
        state, loss = step(state, batch)
        want.append(loss)

    state = start()
    for batch in batches[:at]:
        state, _ = step(state, batch)
    state = load(save(state))
    for i in range(at, len(batches)):
        state, loss = step(state, batches[i])
        if abs(loss - want[i]) > 1e-9 * abs(want[i]):
            return i
    return -1


# style: a loop over the names of both
def changed(
    before: dict[str, int], after: dict[str, int], within: float
) -> dict[str, tuple[int, int]]:
    out = {}
    for name in before.keys() | after.keys():
        b, a = before.get(name, 0), after.get(name, 0)
        if abs(a - b) > within * b:
            out[name] = (b, a)
    return out
