from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# what: this answer believes that in an all-to-all a device also sends its own part, and that a reduce-scatter is an all-reduce of which a piece is cut out, and costs as much.
def budget(bill: list[dict]) -> int:
    total = 0
    for c in bill:
        n, size, op = c["devices"], c["bytes"], c["op"]
        if op in ("all-reduce", "reduce-scatter"):
            sent = 2 * (n - 1) * size // n
        elif op == "all-gather":
            sent = (n - 1) * size // n
        else:
            sent = size
        total += sent * c["times"]
    return total


# what: this answer believes that any bill above that of commit 0 is a bad one, and that the number asked for is that of the last good commit.
def first_bad(bill: Callable[[int], int], n: int) -> int:
    base = bill(0)
    good, bad = 0, n - 1
    while bad - good > 1:
        mid = (good + bad) // 2
        if bill(mid) > base:
            bad = mid
        else:
            good = mid
    return good


# what: this answer believes that copies which are close to one another are the same, and that there is drift only where every device finds a difference.
def drifts(w: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["data"]

    def local(mine):
        other = lax.ppermute(mine, "data", [(i, (i + 1) % n) for i in range(n)])
        differ = (~jnp.allclose(mine, other, equal_nan=True)).astype(jnp.int32)
        return lax.pmin(differ, "data") > 0

    return jax.shard_map(local, mesh=mesh, in_specs=P("data"), out_specs=P())(w)


# what: this answer believes that the losses must be equal to the last bit, and that the checkpoint is written after step `at`.
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
    for batch in batches[: at + 1]:
        state, _ = step(state, batch)
    state = load(save(state))
    for i in range(at + 1, len(batches)):
        state, loss = step(state, batches[i])
        if loss != want[i]:
            return i
    return -1


# what: this answer believes that a figure that was 0 has no fraction by which it could change, and that only growth is a change.
def changed(
    before: dict[str, int], after: dict[str, int], within: float
) -> dict[str, tuple[int, int]]:
    out = {}
    for name in before.keys() | after.keys():
        b, a = before.get(name, 0), after.get(name, 0)
        if b == 0:
            continue
        if (a - b) / b > within:
            out[name] = (b, a)
    return out
