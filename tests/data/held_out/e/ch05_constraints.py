import jax
import jax.numpy as jnp  # noqa: F401
from jax.lax import with_sharding_constraint  # noqa: F401
from jax.sharding import Mesh, NamedSharding  # noqa: F401
from jax.sharding import PartitionSpec as P  # noqa: F401


# what: a sum along a cut dimension is believed to need whole columns on a device first, so all of x is sent instead of the sums.
def spread_sums(x: jax.Array, mesh: Mesh) -> jax.Array:
    whole_columns = NamedSharding(mesh, P(None, ("y", "x")))
    x = with_sharding_constraint(x, whole_columns)
    total = jnp.sum(x, axis=0)
    return with_sharding_constraint(total, NamedSharding(mesh, P(("y", "x"))))


# what: the order of the axes in one entry is believed to be a matter of taste, so the columns are dealt out over ("x", "y").
def running_totals(x: jax.Array, mesh: Mesh) -> jax.Array:
    columns = NamedSharding(mesh, P(None, ("x", "y")))
    x = with_sharding_constraint(x, columns)
    return with_sharding_constraint(jnp.cumsum(x, axis=0), columns)


# what: saying where the hidden values and the result shall lie is believed to settle the weights and the x between the layers as well, so these are left to the compiler.
def keep_the_batch_apart(
    batch: jax.Array, layers: list[tuple[jax.Array, jax.Array]], mesh: Mesh
) -> jax.Array:
    hidden = NamedSharding(mesh, P("x", "y"))
    rows = NamedSharding(mesh, P("x", None))
    x = batch
    for w1, w2 in layers:
        h = with_sharding_constraint(jnp.tanh(x @ w1), hidden)
        x = h @ w2
    return with_sharding_constraint(x, rows)


# what: a product on Explicit axes is believed to work only if the inner dimension is not cut, so both operands are gathered before it.
def dense(x: jax.Array, w: jax.Array, b: jax.Array, mesh: Mesh) -> jax.Array:
    x = jax.sharding.reshard(x, NamedSharding(mesh, P("x", None)))
    w = jax.sharding.reshard(w, NamedSharding(mesh, P(None, None)))
    return jax.nn.relu(x @ w + b)
