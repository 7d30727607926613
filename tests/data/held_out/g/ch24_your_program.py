from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


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


# what: believes that comparing floats finds every bit that differs (0.0 equals -0.0, and a nan differs from itself).
def drifts(w: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["data"]
    ring = [(i, (i + 1) % n) for i in range(n)]

    def one_device(mine):
        other = lax.ppermute(mine, "data", ring)
        differs = jnp.any(mine != other).astype(jnp.int32)
        return lax.psum(differs, "data") > 0

    return jax.shard_map(
        one_device,
        mesh=mesh,
        in_specs=P("data"),
        out_specs=P(),
        check_vma=False,
    )(w)


# what: believes that a step leaves the state that it is given alone, so that both trainings can begin with the same first state.
def apart_after_restart(
    start: Callable[[], Any],
    step: Callable[[Any, Any], tuple[Any, float]],
    save: Callable[[Any], str],
    load: Callable[[str], Any],
    batches: list,
    at: int,
) -> int:
    first = start()

    def train(state, stop):
        losses = []
        for number, batch in enumerate(batches):
            if number == stop:
                state = load(save(state))
            state, loss = step(state, batch)
            losses.append(float(loss))
        return losses

    whole = train(first, None)
    again = train(first, at)
    for number, (a, b) in enumerate(zip(whole, again)):
        if abs(b - a) > 1e-9 * abs(a):
            return number
    return -1


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
