import jax
import jax.numpy as jnp
from jax import lax
from jax.lax import with_sharding_constraint  # noqa: F401
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: names the axes of the result in the wrong order, which mixes up the columns + a row's total lacks the row itself
def running_totals(x: jax.Array, mesh: Mesh) -> jax.Array:
    def part(block):
        columns = lax.all_to_all(block, "x", split_axis=1, concat_axis=0, tiled=True)
        return jnp.cumsum(columns, axis=0) - columns

    return jax.shard_map(part, mesh=mesh, in_specs=P("x", "y"), out_specs=P(None, ("x", "y")))(x)


# what: gathers the features of x and all of w and multiplies them whole on every device along "y" + adds the bias after relu
def dense(x: jax.Array, w: jax.Array, b: jax.Array, mesh: Mesh) -> jax.Array:
    x = jax.sharding.reshard(x, NamedSharding(mesh, P("x", None)))
    w = jax.sharding.reshard(w, NamedSharding(mesh, P(None, None)))
    return jax.nn.relu(x @ w) + b
