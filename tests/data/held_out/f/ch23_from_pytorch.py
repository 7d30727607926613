import re

import jax  # noqa: F401
import jax.numpy as jnp  # noqa: F401
import numpy as np
from jax import P, lax  # noqa: F401
from jax.sharding import Mesh


# what: believes that reshaping [out, in] to [in, out] is transposing.
def from_state_dict(there: dict, tables: set[str]) -> dict:
    out, layers = {}, {}
    for name, a in there.items():
        if a.ndim == 2 and name not in tables:
            rows, columns = a.shape
            a = a.reshape(columns, rows)
        found = re.fullmatch(r"blocks\.(\d+)\.(.+)", name)
        if found is None:
            out[name] = a
        else:
            layers.setdefault(found[2], {})[int(found[1])] = a
    out["blocks"] = {
        name: np.stack([of[i] for i in sorted(of)]) for name, of in layers.items()
    }
    return out


# what: believes that check_vma=False only leaves out a check, and that psum and pmean are differentiated as with types (their gradient there is summed once more).
def multiple(
    check_vma: bool, cast: bool, of: str, then: str, n: int
) -> tuple[float, str]:
    scale = 1 / n if of == "pmean" else 1.0
    if check_vma and not cast:
        # w is everybody's, and its gradient is summed by itself
        m, whose = scale * n, "all"
    else:
        m, whose = scale, "own"
    if then == "pmean":
        whose = "all"
    elif then == "psum":
        m, whose = m * n, "all"
    return float(m), whose


# what: believes that the processes' rows side by side are just the next piece of order (the rows are the same, but they come process after process).
def global_batch(
    order: list[int], step: int, processes: int, rows: int, micro: int
) -> np.ndarray:
    missing = -len(order) % processes
    whole = np.resize(np.asarray(order), len(order) + missing)
    wide = processes * rows
    begin = step * micro * wide
    return whole[begin : begin + micro * wide].reshape(micro, wide)


# what: believes that the squares are averaged over the devices as gradients are (pmean): right for copies, n times too small for what is cut.
def clipped(grads: dict, specs: dict, most: float, mesh: Mesh) -> dict:
    def local(grads):
        squares = sum(jnp.sum(jnp.square(g)) for g in grads.values())
        norm = jnp.sqrt(lax.pmean(squares, "data"))
        factor = jnp.where(norm > most, most / norm, 1.0)
        return {name: g * factor for name, g in grads.items()}

    layout = {name: specs[name] for name in grads}
    return jax.shard_map(
        local, mesh=mesh, in_specs=(layout,), out_specs=layout
    )(grads)


# what: believes that it is enough if the differences are no more than rounding on average over the steps.
def which_default(
    theirs: list[float], runs: dict[str, list[float]], rounding: float
) -> str:
    right = np.asarray(theirs, dtype=np.float64)
    off = {
        name: float(np.abs(np.asarray(mine, np.float64) / right - 1).mean())
        for name, mine in runs.items()
    }
    best = min(off, key=off.get, default="")
    return best if best in off and off[best] <= rounding else ""
