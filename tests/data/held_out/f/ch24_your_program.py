import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp  # noqa: F401
from jax import P, lax  # noqa: F401
from jax.sharding import Mesh


# what: believes that in an all-gather a device sends its own part once, and does not pass on those of the others.
def budget(bill: list[dict]) -> int:
    def one(op, size, n):
        part = size // n
        match op:
            case "all-reduce":
                return 2 * part * (n - 1)
            case "all-gather":
                return part if n > 1 else 0
            case "reduce-scatter" | "all-to-all":
                return part * (n - 1)
            case _:
                return size

    return sum(
        c["times"] * one(c["op"], c["bytes"], c["devices"]) for c in bill
    )


# what: believes that a name given to the state at step `at` keeps it as it was, and writes the checkpoint only after the first training (step may have changed it).
def apart_after_restart(
    start: Callable[[], Any],
    step: Callable[[Any, Any], tuple[Any, float]],
    save: Callable[[Any], str],
    load: Callable[[str], Any],
    batches: list,
    at: int,
) -> int:
    state = stopped = start()
    straight = []
    for i, batch in enumerate(batches):
        if i == at:
            stopped = state
        state, loss = step(state, batch)
        straight.append(loss)
    if at >= len(batches):
        return -1
    state = load(save(stopped))
    for i in range(at, len(batches)):
        state, loss = step(state, batches[i])
        if abs(loss - straight[i]) > 1e-9 * abs(straight[i]):
            return i
    return -1


# what: believes that a relative tolerance is that of math.isclose, whose measure is the larger of the two figures, not the one before.
def changed(
    before: dict[str, int], after: dict[str, int], within: float
) -> dict[str, tuple[int, int]]:
    out = {}
    for name in [*before, *(a for a in after if a not in before)]:
        pair = before.get(name, 0), after.get(name, 0)
        if not math.isclose(*pair, rel_tol=within):
            out[name] = pair
    return out
