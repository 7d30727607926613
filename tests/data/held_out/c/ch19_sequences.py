import jax
import jax.numpy as jnp
import numpy as np
from jax import P, lax
from jax.sharding import Mesh, NamedSharding


# what: what this answer believes: the rows have to be brought into the order of the sequence first, and reordering with fixed indices sends nothing.
def rotary(x: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["s"]
    T, d = x.shape
    chunks = np.arange(T).reshape(2 * n, T // (2 * n))
    order = np.concatenate([np.concatenate([chunks[i], chunks[2 * n - 1 - i]]) for i in range(n)])
    plain = x[np.argsort(order)]
    angle = jnp.arange(T)[:, None] * 10000.0 ** (-2 * jnp.arange(d // 2) / d)
    a, b = plain[:, : d // 2], plain[:, d // 2 :]
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    turned = jnp.concatenate([a * cos - b * sin, a * sin + b * cos], axis=1)
    return lax.with_sharding_constraint(turned[order], NamedSharding(mesh, P("s")))
