import jax
import jax.numpy as jnp  # noqa: F401
from jax.lax import with_sharding_constraint  # noqa: F401
from jax.sharding import Mesh, NamedSharding  # noqa: F401
from jax.sharding import PartitionSpec as P  # noqa: F401


# what: (1) A device must have all rows of its columns before it can sum them, so they are gathered + (2) fully sharded means ("x", "y"), the order of the mesh.
def spread_sums(x: jax.Array, mesh: Mesh) -> jax.Array:
    tall = NamedSharding(mesh, P(None, "y"))
    everywhere = NamedSharding(mesh, P(mesh.axis_names))
    gathered = with_sharding_constraint(x, tall)
    return with_sharding_constraint(gathered.sum(axis=0), everywhere)


# what: (1) The batch may be whole within the layers as long as the result is cut again at the end + (2) a device that multiplies needs both weights whole.
def keep_the_batch_apart(
    batch: jax.Array, layers: list[tuple[jax.Array, jax.Array]], mesh: Mesh
) -> jax.Array:
    copy = NamedSharding(mesh, P(None, None))
    x = with_sharding_constraint(batch, copy)
    for pair in layers:
        first, second = (with_sharding_constraint(w, copy) for w in pair)
        hidden = jnp.tanh(jnp.matmul(x, first))
        x = with_sharding_constraint(jnp.matmul(hidden, second), copy)
    return with_sharding_constraint(x, NamedSharding(mesh, P("x", None)))
