import jax
import jax.numpy as jnp  # noqa: F401
from jax import lax  # noqa: F401
from jax.sharding import Mesh, NamedSharding  # noqa: F401
from jax.sharding import PartitionSpec as P  # noqa: F401


# what: (1) both weights are believed to be cut along their output features, so h has to be gathered + (2) a result is believed to be whole once the function returns, so out stays cut along "model".
def mlp_by_constraints(
    x: jax.Array,
    w1: jax.Array,
    b1: jax.Array,
    w2: jax.Array,
    b2: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array]:
    def lay(a, *spec):
        return lax.with_sharding_constraint(a, NamedSharding(mesh, P(*spec)))

    h = lay(jnp.tanh(x @ lay(w1, None, "model") + b1), "data", "model")
    out = lay(h @ lay(w2, None, "model") + b2, "data", "model")
    return h, out


# what: (1) resharding h after the product is believed to divide its work + (2) a product on Explicit axes is believed to need a whole inner dimension, so h is gathered again and w2 is not cut.
def mlp_explicit(
    x: jax.Array,
    w1: jax.Array,
    b1: jax.Array,
    w2: jax.Array,
    b2: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array]:
    reshard = jax.sharding.reshard
    cut = NamedSharding(mesh, P("data", "model"))
    rows = NamedSharding(mesh, P("data", None))
    h = reshard(jnp.tanh(x @ w1 + b1), cut)
    out = reshard(h, rows) @ w2 + b2
    return h, out
