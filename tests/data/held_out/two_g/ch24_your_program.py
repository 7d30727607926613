from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# what: (1) believes that a reduce-scatter sends as much as an all-reduce + (2) believes that in a collective-permute, too, a device keeps one n-th and sends the rest.
def budget(bill: list[dict]) -> int:
    def sent(op: str, size: int, n: int) -> int:
        others = size - size // n
        if op in ("all-reduce", "reduce-scatter"):
            return 2 * others
        return others

    return sum(
        sent(item["op"], item["bytes"], item["devices"]) * item["times"]
        for item in bill
    )


# what: (1) believes that comparing floats finds every bit that differs + (2) believes that copies differ only if every device finds its neighbour's different.
def drifts(w: jax.Array, mesh: Mesh) -> jax.Array:
    size = mesh.shape["data"]

    def part(copy):
        right = [(i, (i + 1) % size) for i in range(size)]
        neighbour = lax.ppermute(copy, "data", right)
        apart = jnp.any(jnp.not_equal(copy, neighbour))
        return lax.pmin(apart.astype(jnp.int32), "data").astype(bool)

    return jax.shard_map(part, mesh=mesh, in_specs=P("data"), out_specs=P())(w)


# what: (1) believes that only figures which were there before can have changed + (2) believes that a change is reported only where the figure has grown.
def changed(
    before: dict[str, int], after: dict[str, int], within: float
) -> dict[str, tuple[int, int]]:
    report = {}
    for name, old in before.items():
        new = after.get(name, 0)
        if new - old > within * old:
            report[name] = (old, new)
    return report
