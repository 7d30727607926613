import jax
import jax.numpy as jnp  # noqa: F401
from jax import lax
from jax.lax import with_sharding_constraint  # noqa: F401
from jax.sharding import Mesh, NamedSharding  # noqa: F401
from jax.sharding import PartitionSpec as P  # noqa: F401


# what: Dealing out whole columns first and summing them at home is cheapest, because the sum then needs no message.
def spread_sums(x: jax.Array, mesh: Mesh) -> jax.Array:
    axes = ("y", "x")
    columns = with_sharding_constraint(x, NamedSharding(mesh, P(None, axes)))
    sums = jnp.sum(columns, axis=0)
    return with_sharding_constraint(sums, NamedSharding(mesh, P(axes)))


# what: The axis that cut the rows simply takes over the columns, P(None, "x"), and that gives each device columns of its own.
def running_totals(x: jax.Array, mesh: Mesh) -> jax.Array:
    whole_columns = NamedSharding(mesh, P(None, "x"))
    turned = with_sharding_constraint(x, whole_columns)
    totals = jnp.cumsum(turned, axis=0)
    return with_sharding_constraint(totals, whole_columns)


# what: The hidden layer's rows stay where they are only if it has the layout of the batch, P("x", None), too.
def keep_the_batch_apart(
    batch: jax.Array, layers: list[tuple[jax.Array, jax.Array]], mesh: Mesh
) -> jax.Array:
    def lay(array, *spec):
        return with_sharding_constraint(array, NamedSharding(mesh, P(*spec)))

    x = lay(batch, "x", None)
    for w1, w2 in layers:
        hidden = lay(jnp.tanh(x @ lay(w1, None, "y")), "x", None)
        x = lay(hidden @ lay(w2, "y", None), "x", None)
    return x


# what: Every device may add the bias to its partial product before these are added up along "y".
def dense(x: jax.Array, w: jax.Array, b: jax.Array, mesh: Mesh) -> jax.Array:
    def part(rows, weights, bias):
        affine = jnp.dot(rows, weights) + bias
        return jax.nn.relu(lax.psum(affine, axis_name="y"))

    mapped = jax.shard_map(
        part,
        mesh=mesh,
        in_specs=(P("x", "y"), P("y", None), P(None)),
        out_specs=P("x", None),
    )
    return mapped(x, w, b)
