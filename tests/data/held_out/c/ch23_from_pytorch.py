import jax
import jax.numpy as jnp
import numpy as np
from jax import P, lax
from jax.sharding import Mesh, NamedSharding


# what: this answer believes that a square weight already fits `x @ w` and need not be turned
def from_state_dict(there: dict, tables: set[str]) -> dict:
    def convert(name, x):
        if x.ndim != 2 or name in tables:
            return x
        rows, columns = x.shape
        return x.T if rows != columns else x

    out = {"blocks": {}}
    layers = {}
    for name, x in there.items():
        if name.startswith("blocks."):
            _, i, rest = name.split(".", 2)
            layers.setdefault(rest, {})[int(i)] = convert(name, x)
        else:
            out[name] = convert(name, x)
    for rest, xs in layers.items():
        out["blocks"][rest] = np.stack([xs[i] for i in range(len(xs))])
    return out


# what: this answer believes that psum is transposed to the identity without check_vma too (so that a pmean of the loss only divides the own gradient by n)
def multiple(
    check_vma: bool, cast: bool, of: str, then: str, n: int
) -> tuple[float, str]:
    m = {"loss": 1.0, "pmean": 1.0 / n, "psum": 1.0}[of]
    whose = "own"
    if check_vma and not cast:
        m, whose = {"loss": float(n), "pmean": 1.0, "psum": float(n)}[of], "all"
    if then == "psum":
        m *= n
    if then != "nothing":
        whose = "all"
    return m, whose


# what: this answer believes that a step counts one micro-batch of the DataLoader, so that a step begins at step * rows
def global_batch(
    order: list[int], step: int, processes: int, rows: int, micro: int
) -> np.ndarray:
    ids = list(order)
    i = 0
    while len(ids) % processes:
        ids.append(ids[i])
        i += 1
    out = []
    for k in range(micro):
        batch = step + k
        line = []
        for r in range(processes):
            line += ids[r::processes][batch * rows : (batch + 1) * rows]
        out.append(line)
    return np.array(out, dtype=int)


# what: this answer believes that it costs the same to sum the squares over the devices first and over the numbers afterwards (all-reduce of whole pieces instead of 4 bytes)
def clipped(grads: dict, specs: dict, most: float, mesh: Mesh) -> dict:
    layout = {k: specs[k] for k in grads}

    def local(g):
        total = jnp.float32(0)
        for k, x in g.items():
            squares = x * x
            if "data" in tuple(layout[k]):
                squares = lax.psum(squares, "data")
            total = total + jnp.sum(squares)
        norm = jnp.sqrt(total)
        scale = jnp.where(norm > most, most / norm, 1.0)
        return {k: x * scale for k, x in g.items()}

    return jax.shard_map(local, mesh=mesh, in_specs=(layout,), out_specs=layout)(grads)
