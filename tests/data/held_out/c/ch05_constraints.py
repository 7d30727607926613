import jax
import jax.numpy as jnp
from jax import lax
from jax.lax import with_sharding_constraint
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: deals out whole columns of x before the sum, so that x travels and not the sums
def spread_sums(x: jax.Array, mesh: Mesh) -> jax.Array:
    x = with_sharding_constraint(x, NamedSharding(mesh, P(None, ("y", "x"))))
    sums = jnp.sum(x, axis=0)
    return with_sharding_constraint(sums, NamedSharding(mesh, P(("y", "x"))))


# what: adds the bias to every partial product, before the all-reduce, so that it counts once per device along "y"
def dense(x: jax.Array, w: jax.Array, b: jax.Array, mesh: Mesh) -> jax.Array:
    def part(rows, weights, bias):
        return jax.nn.relu(lax.psum(rows @ weights + bias, "y"))

    return jax.shard_map(
        part,
        mesh=mesh,
        in_specs=(P("x", "y"), P("y", None), P(None)),
        out_specs=P("x", None),
    )(x, w, b)
