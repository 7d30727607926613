import jax
import jax.numpy as jnp  # noqa: F401
from jax.lax import with_sharding_constraint  # noqa: F401
from jax.sharding import Mesh, NamedSharding  # noqa: F401
from jax.sharding import PartitionSpec as P  # noqa: F401


# what: (1) a sum is believed to need its whole columns on the device first, so x is gathered along "x" + (2) the order of the axes in one entry is believed not to matter.
def spread_sums(x: jax.Array, mesh: Mesh) -> jax.Array:
    x = with_sharding_constraint(x, NamedSharding(mesh, P(None, "y")))
    total = jnp.sum(x, axis=0)
    return with_sharding_constraint(total, NamedSharding(mesh, P(("x", "y"))))


# what: (1) a device is believed to need the whole weights for its own rows, so they are gathered along both axes + (2) tanh is believed to come after the second product too, as after every layer.
def keep_the_batch_apart(
    batch: jax.Array, layers: list[tuple[jax.Array, jax.Array]], mesh: Mesh
) -> jax.Array:
    def lay(a, *spec):
        return with_sharding_constraint(a, NamedSharding(mesh, P(*spec)))

    x = lay(batch, "x", None)
    for number, (w1, w2) in enumerate(layers, 1):
        w1 = lay(w1, None, None)
        w2 = lay(w2, None, None)
        h = lay(jnp.tanh(x @ w1), "x", None)
        x = lay(h @ w2, "x", None)
        if number < len(layers):
            x = jnp.tanh(x)
    return x
