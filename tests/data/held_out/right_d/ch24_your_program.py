import bisect
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh

# How many n-ths of the larger array a device sends, for each kind.
PARTS = {
    "all-reduce": lambda n: 2 * (n - 1),
    "all-gather": lambda n: n - 1,
    "reduce-scatter": lambda n: n - 1,
    "all-to-all": lambda n: n - 1,
    "collective-permute": lambda n: n,
}


# style: a table of functions and one sum
def budget(bill: list[dict]) -> int:
    return sum(
        c["times"] * PARTS[c["op"]](c["devices"]) * c["bytes"] // c["devices"]
        for c in bill
    )


# style: bisect from the standard library, with a key
def first_bad(bill: Callable[[int], int], n: int) -> int:
    limit = 1.4 * bill(0)
    return bisect.bisect_left(
        range(n), True, lo=1, hi=n - 1, key=lambda i: bill(i) > limit
    )


# style: shard_map as a decorator, the bits are sent the other way round, xor of the bits, maximum
def drifts(w: jax.Array, mesh: Mesh) -> jax.Array:
    @partial(jax.shard_map, mesh=mesh, in_specs=P("data", None), out_specs=P())
    def verdict(copy):
        n = lax.axis_size("data")
        bits = lax.bitcast_convert_type(copy, jnp.int32)
        right = lax.ppermute(bits, "data", [((i + 1) % n, i) for i in range(n)])
        same = jnp.all((bits ^ right) == 0)
        return lax.pmax(jnp.where(same, 0, 1).astype(jnp.int32), "data")

    return verdict(w).astype(bool)


# style: a generator of losses that is told where to restart, and next() over the pairs
def apart_after_restart(
    start: Callable[[], Any],
    step: Callable[[Any, Any], tuple[Any, float]],
    save: Callable[[Any], str],
    load: Callable[[str], Any],
    batches: list,
    at: int,
) -> int:
    def losses(restart_at=None):
        state = start()
        for i, batch in enumerate(batches):
            if i == restart_at:
                state = load(save(state))
            state, loss = step(state, batch)
            yield float(loss)

    pairs = zip(list(losses()), list(losses(at)), strict=True)
    return next(
        (i for i, (want, got) in enumerate(pairs) if abs(got - want) > 1e-9 * abs(want)),
        -1,
    )


# style: a dict of pairs first, then a comprehension that filters it
def changed(
    before: dict[str, int], after: dict[str, int], within: float
) -> dict[str, tuple[int, int]]:
    pairs = {k: (before.get(k, 0), after.get(k, 0)) for k in [*before, *after]}
    return {k: (b, a) for k, (b, a) in pairs.items() if abs(b - a) > within * b}
