import jax
import jax.numpy as jnp
import numpy as np
from jax import P, lax
from jax.sharding import Mesh, NamedSharding


# what: this answer believes that "two dimensions" can be asked after the stacking, so stacked biases and norms are turned and the weights of the layers are not
def from_state_dict(there: dict, tables: set[str]) -> dict:
    flat = {}
    layers = {}
    for name, array in there.items():
        if name.startswith("blocks."):
            _, i, rest = name.split(".", 2)
            layers.setdefault(rest, {})[int(i)] = array
        else:
            flat[name] = array
    blocks = {k: np.stack([v[i] for i in sorted(v)]) for k, v in layers.items()}

    def turn(named):
        return {
            k: v.T if v.ndim == 2 and k not in tables else v for k, v in named.items()
        }

    return {**turn(flat), "blocks": turn(blocks)}


# what: this answer believes that pmean after the gradient turns the sum that JAX has already made into a mean (that pmean of n equal copies divides by n)
def multiple(
    check_vma: bool, cast: bool, of: str, then: str, n: int
) -> tuple[float, str]:
    if check_vma and not cast:
        m, whose = {"loss": n, "pmean": 1, "psum": n}[of], "all"
    elif check_vma:
        m, whose = {"loss": 1, "pmean": 1 / n, "psum": 1}[of], "own"
    else:
        m, whose = {"loss": 1, "pmean": 1, "psum": n}[of], "own"
    if then == "pmean":
        if whose == "all":
            m = m / n
        whose = "all"
    if then == "psum":
        m = m * n
        whose = "all"
    return float(m), whose


# what: this answer believes that [processes, micro, rows] can be reshaped to [micro, processes * rows] without moving the axis of the processes
def global_batch(
    order: list[int], step: int, processes: int, rows: int, micro: int
) -> np.ndarray:
    padded = np.array(order, dtype=int)
    padded = np.concatenate([padded, np.resize(padded, -len(order) % processes)])
    start = step * micro * rows
    stop = start + micro * rows
    each = np.stack([padded[r::processes][start:stop] for r in range(processes)])
    return each.reshape(micro, processes * rows)


# what: this answer believes that pmean of the squares suits all arrays, since then copies are not counted n times (but the pieces of cut arrays are averaged)
def clipped(grads: dict, specs: dict, most: float, mesh: Mesh) -> dict:
    layout = {k: specs[k] for k in grads}

    def local(g):
        squares = {k: lax.pmean(jnp.sum(x * x), "data") for k, x in g.items()}
        norm = jnp.sqrt(sum(squares.values()))
        scale = jnp.where(norm > most, most / norm, 1.0)
        return {k: x * scale for k, x in g.items()}

    return jax.shard_map(local, mesh=mesh, in_specs=(layout,), out_specs=layout)(grads)


# what: this answer believes that the last step is enough, because differences only grow
def which_default(
    theirs: list[float], runs: dict[str, list[float]], rounding: float
) -> str:
    for name, mine in runs.items():
        if abs(mine[-1] / theirs[-1] - 1) <= rounding:
            return name
    return ""
