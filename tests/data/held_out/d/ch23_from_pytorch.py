import jax
import jax.numpy as jnp
import numpy as np
from jax import P, lax
from jax.sharding import Mesh, NamedSharding


# what: this answer believes that tables names the arrays of a layer without "blocks.<i>.", so tables inside the layers are turned as if they were Linear
def from_state_dict(there: dict, tables: set[str]) -> dict:
    out = {}
    layers = {}
    for name, x in there.items():
        if name.startswith("blocks."):
            _, i, key = name.split(".", 2)
        else:
            i, key = None, name
        if x.ndim == 2 and key not in tables:
            x = x.T
        if i is None:
            out[key] = x
        else:
            layers.setdefault(int(i), {})[key] = x
    ordered = [layers[i] for i in sorted(layers)]
    out["blocks"] = jax.tree.map(lambda *xs: np.stack(xs), *ordered)
    return out


# what: this answer believes that a loss that went through pmean or psum has a gradient that is everybody's, whatever the type of w
def multiple(
    check_vma: bool, cast: bool, of: str, then: str, n: int
) -> tuple[float, str]:
    if of == "pmean":
        m, whose = 1, "all"
    elif of == "psum":
        m, whose = n, "all"
    elif check_vma and not cast:
        m, whose = n, "all"
    else:
        m, whose = 1, "own"
    if then == "psum":
        m *= n
    if then in ("psum", "pmean"):
        whose = "all"
    return float(m), whose


# what: this answer believes that every device must contribute to the sum for every array, so copies are counted n times
def clipped(grads: dict, specs: dict, most: float, mesh: Mesh) -> dict:
    layout = {k: specs[k] for k in grads}

    def local(g):
        mine = sum(jnp.sum(jnp.square(x)) for x in g.values())
        norm = jnp.sqrt(lax.psum(mine, "data"))
        scale = jnp.minimum(1.0, most / norm)
        return jax.tree.map(lambda x: x * scale, g)

    return jax.shard_map(local, mesh=mesh, in_specs=(layout,), out_specs=layout)(grads)
