import jax
import jax.numpy as jnp
from jax import lax
from jax.lax import with_sharding_constraint
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: (1) None in a constraint is believed to leave a dimension as it is, so h loses its cut along "data" + (2) each device is believed to add b2 to its partial product, so b2 is divided by the size of "model".
def mlp_by_constraints(
    x: jax.Array,
    w1: jax.Array,
    b1: jax.Array,
    w2: jax.Array,
    b2: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array]:
    hidden_cut = NamedSharding(mesh, P(None, "model"))
    h = with_sharding_constraint(jnp.tanh(x @ w1 + b1), hidden_cut)
    w2 = with_sharding_constraint(w2, NamedSharding(mesh, P("model", None)))
    out = h @ w2 + b2 / mesh.shape["model"]
    return h, with_sharding_constraint(out, NamedSharding(mesh, P("data", None)))


# what: (1) along "model" every device is believed to need all rows of x, so x is copied everywhere and h is not cut along "data" + (2) the result of the second product is left cut along "model", as if the whole were still there for each device.
def mlp_explicit(
    x: jax.Array,
    w1: jax.Array,
    b1: jax.Array,
    w2: jax.Array,
    b2: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array]:
    def lay(t, *spec):
        return jax.sharding.reshard(t, NamedSharding(mesh, P(*spec)))

    x = lay(x, None, None)
    h = jnp.tanh(x @ lay(w1, None, "model") + lay(b1, "model"))
    product = jnp.einsum(
        "rh,hf->rf",
        h,
        lay(w2, "model", None),
        out_sharding=NamedSharding(mesh, P("data", "model")),
    )
    return h, product + lay(b2, "model")
