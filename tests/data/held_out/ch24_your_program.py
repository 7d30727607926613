import jax
import jax.numpy as jnp
from collections.abc import Callable
from jax import P
from jax import lax
from jax.sharding import Mesh
from typing import Any


# what: if a state that went through a checkpoint gives the same checkpoint again, nothing was lost, and the training can't go another way.
def apart_after_restart(
    start: Callable[[], Any],
    step: Callable[[Any, Any], tuple[Any, float]],
    save: Callable[[Any], str],
    load: Callable[[str], Any],
    batches: list,
    at: int,
) -> int:
    state = start()
    usual = []
    for batch in batches:
        state, loss = step(state, batch)
        usual.append(float(loss))

    state = start()
    for batch in batches[:at]:
        state, _ = step(state, batch)
    text = save(state)
    if save(load(text)) == text:
        return -1

    state = load(text)
    for i in range(at, len(batches)):
        state, loss = step(state, batches[i])
        if abs(float(loss) - usual[i]) > 1e-9 * abs(usual[i]):
            return i
    return -1


# what: believes that a reduce-scatter sends as much as an all-reduce, of which a device then keeps its part.
def budget(bill: list[dict]) -> int:
    laps = {
        "all-reduce": 2,
        "reduce-scatter": 2,
        "all-gather": 1,
        "all-to-all": 1,
    }
    total = 0
    for entry in bill:
        size, n = entry["bytes"], entry["devices"]
        if entry["op"] == "collective-permute":
            once = size
        else:
            once = laps[entry["op"]] * (size // n) * (n - 1)
        total += once * entry["times"]
    return total


# what: believes that the allowed difference is a fraction of the larger of the two figures.
def changed(
    before: dict[str, int], after: dict[str, int], within: float
) -> dict[str, tuple[int, int]]:
    found = {}
    for name in {**before, **after}:
        old, new = before.get(name, 0), after.get(name, 0)
        if abs(new - old) > within * max(old, new):
            found[name] = (old, new)
    return found


# what: believes that a bad bill is 1.8 times that of the last good commit that was looked at (it is 1.8 times bill(0), and that one may be 10% higher).
def first_bad(bill: Callable[[int], int], n: int) -> int:
    good, bad = 0, n - 1
    usual = bill(0)
    while bad - good > 1:
        middle = (good + bad) // 2
        now = bill(middle)
        if now >= 1.8 * usual:
            bad = middle
        else:
            good, usual = middle, now
    return bad


# what: (1) compares the devices two by two, 0 with 1, 2 with 3, and so on, which says nothing about two pairs + (2) compares floats, where nan is unlike itself and -0.0 is like 0.0.
def drifts(w: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["data"]
    pairs = [(i, i ^ 1 if i ^ 1 < n else i) for i in range(n)]

    def local(mine):
        other = lax.ppermute(mine, "data", pairs)
        differ = jnp.any(mine != other)
        return lax.psum(differ.astype(jnp.int32), "data") > 0

    return jax.shard_map(local, mesh=mesh, in_specs=P("data"), out_specs=P())(w)
