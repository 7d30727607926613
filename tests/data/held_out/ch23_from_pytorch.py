import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh


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


# what: this answer believes that the order is filled up with its last number, and that the micro-batches of a step take turns with the rows (every micro-th)
def global_batch(
    order: list[int], step: int, processes: int, rows: int, micro: int
) -> np.ndarray:
    ids = list(order)
    while len(ids) % processes:
        ids.append(ids[-1])
    size = micro * rows
    shares = [
        ids[r::processes][step * size : (step + 1) * size] for r in range(processes)
    ]
    return np.array(
        [[x for share in shares for x in share[k::micro]] for k in range(micro)],
        dtype=int,
    )


# what: this answer believes that the dict has the layers in their order already, and that reshape to (in, out) turns a matrix
def from_state_dict(there: dict, tables: set[str]) -> dict:
    out, layers = {}, {}
    for name, x in there.items():
        if x.ndim == 2 and name not in tables:
            x = x.reshape(x.shape[1], x.shape[0])
        if name.startswith("blocks."):
            layers.setdefault(name.split(".", 2)[2], []).append(x)
        else:
            out[name] = x
    out["blocks"] = {rest: np.stack(xs) for rest, xs in layers.items()}
    return out


# what: this answer believes that "none" is no answer, being no default, and that the closest run is always the one (never "")
def which_default(
    theirs: list[float], runs: dict[str, list[float]], rounding: float
) -> str:
    t = np.asarray(theirs, np.float64)
    off = {
        name: np.max(np.abs(np.asarray(mine, np.float64) / t - 1))
        for name, mine in runs.items()
        if name != "none"
    }
    return min(off, key=off.get, default="")
