from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# what: in every collective a device keeps its own n-th, in a permute, too, so (n-1)/n of the bytes travel.
def budget(bill: list[dict]) -> int:
    trips = {
        "all-reduce": 2,
        "all-gather": 1,
        "reduce-scatter": 1,
        "all-to-all": 1,
        "collective-permute": 1,
    }
    total = 0
    for c in bill:
        n = c["devices"]
        total += trips[c["op"]] * (n - 1) * (c["bytes"] // n) * c["times"]
    return total


# what: a good commit is at most 10 % away from the last good commit that was looked at, not only from the first.
def first_bad(bill: Callable[[int], int], n: int) -> int:
    good, bad = 0, n - 1
    last = bill(0)
    while bad - good > 1:
        middle = (good + bad) // 2
        now = bill(middle)
        if abs(now - last) <= 0.1 * last:
            good, last = middle, now
        else:
            bad = middle
    return bad


# what: numbers that compare equal have the same bits (0.0 and -0.0 do not, and a nan doesn't equal itself).
def drifts(w: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["data"]

    def local(w):
        other = lax.ppermute(w, "data", [(i, (i + 1) % n) for i in range(n)])
        differs = jnp.any(w != other).astype(jnp.int32)
        return lax.pmax(differs, "data") > 0

    return jax.shard_map(local, mesh=mesh, in_specs=P("data"), out_specs=P())(w)


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


# what: the allowed difference is a fraction of the larger of the two figures, so that it treats growing and shrinking alike.
def changed(
    before: dict[str, int], after: dict[str, int], within: float
) -> dict[str, tuple[int, int]]:
    result = {}
    for name in before.keys() | after.keys():
        old, new = before.get(name, 0), after.get(name, 0)
        if abs(new - old) > within * max(old, new):
            result[name] = (old, new)
    return result
