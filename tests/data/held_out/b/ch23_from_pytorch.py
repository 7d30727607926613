import jax
import jax.numpy as jnp
import numpy as np
from jax import P, lax
from jax.sharding import Mesh, NamedSharding


# what: this answer believes that sorting the names puts the layers in order (but "blocks.10" comes before "blocks.2")
def from_state_dict(there: dict, tables: set[str]) -> dict:
    out, layers = {}, {}
    for name in sorted(there):
        x = there[name]
        if x.ndim == 2 and name not in tables:
            x = x.T
        if name.startswith("blocks."):
            rest = name.split(".", 2)[2]
            layers.setdefault(rest, []).append(x)
        else:
            out[name] = x
    out["blocks"] = {rest: np.stack(xs) for rest, xs in layers.items()}
    return out


# what: this answer believes that psum of what is already the same everywhere changes nothing, since there is nothing left to sum
def multiple(
    check_vma: bool, cast: bool, of: str, then: str, n: int
) -> tuple[float, str]:
    if check_vma and not cast:
        m = {"loss": n, "pmean": 1, "psum": n}[of]
        return float(m), "all"
    if check_vma:
        m = {"loss": 1, "pmean": 1 / n, "psum": 1}[of]
    else:
        m = {"loss": 1, "pmean": 1, "psum": n}[of]
    if then == "nothing":
        return float(m), "own"
    return float(m * n if then == "psum" else m), "all"


# what: this answer believes that each process gets a contiguous stretch of the order, not every n-th number
def global_batch(
    order: list[int], step: int, processes: int, rows: int, micro: int
) -> np.ndarray:
    ids = np.array(order, dtype=int)
    ids = np.concatenate([ids, np.resize(ids, -len(ids) % processes)])
    shares = ids.reshape(processes, -1)
    size = micro * rows
    now = shares[:, step * size : (step + 1) * size]
    return np.concatenate([s.reshape(micro, rows) for s in now], axis=1)


# what: this answer believes that norms add up over the devices (each takes its root first, and psum adds the roots)
def clipped(grads: dict, specs: dict, most: float, mesh: Mesh) -> dict:
    layout = {k: specs[k] for k in grads}

    def local(g):
        copies = jnp.float32(0)
        cut = jnp.float32(0)
        for k, x in g.items():
            if "data" in tuple(layout[k]):
                cut = cut + jnp.sum(x * x)
            else:
                copies = copies + jnp.sum(x * x)
        norm_of_cut = lax.psum(jnp.sqrt(cut), "data")
        norm = jnp.sqrt(copies + norm_of_cut**2)
        scale = jnp.where(norm > most, most / norm, 1.0)
        return {k: x * scale for k, x in g.items()}

    return jax.shard_map(local, mesh=mesh, in_specs=(layout,), out_specs=layout)(grads)
