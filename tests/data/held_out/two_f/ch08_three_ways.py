import jax
import jax.numpy as jnp  # noqa: F401
from jax import lax  # noqa: F401
from jax.sharding import Mesh, NamedSharding  # noqa: F401
from jax.sharding import PartitionSpec as P  # noqa: F401


# what: (1) thinks that the second product needs h whole on every device, and constrains and returns it so + (2) thinks that out stays cut along "model" like the hidden features.
def mlp_by_constraints(
    x: jax.Array,
    w1: jax.Array,
    b1: jax.Array,
    w2: jax.Array,
    b2: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array]:
    def at(array, *axes):
        return lax.with_sharding_constraint(
            array, NamedSharding(mesh, P(*axes))
        )

    w1 = at(w1, None, "model")
    h = at(jnp.tanh(x @ w1 + b1), "data", None)
    w2 = at(w2, None, "model")
    out = at(h @ w2 + b2, "data", "model")
    return h, out


# what: (1) thinks that a dimension that is summed over must not be cut, so h is made whole and returned whole + (2) thinks that every device along "model" adds b2, so it divides b2 by their number.
def mlp_explicit(
    x: jax.Array,
    w1: jax.Array,
    b1: jax.Array,
    w2: jax.Array,
    b2: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array]:
    columns = NamedSharding(mesh, P(None, "model"))
    whole_rows = NamedSharding(mesh, P("data", None))
    w1 = jax.sharding.reshard(w1, columns)
    b1 = jax.sharding.reshard(b1, NamedSharding(mesh, P("model")))
    h = jnp.tanh(jnp.matmul(x, w1) + b1)
    h = jax.sharding.reshard(h, whole_rows)
    summed = jnp.matmul(h, w2)
    return h, summed + b2 / mesh.shape["model"]
