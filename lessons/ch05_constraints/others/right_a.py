"""Right answers of ch05_constraints, written another way."""

import jax
import jax.numpy as jnp
from jax.lax import with_sharding_constraint
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def spread_sums(x, mesh):
    sums = jnp.ones(x.shape[0]) @ x
    for spec in (P("y"), P(("y", "x"))):
        sums = with_sharding_constraint(sums, NamedSharding(mesh, spec))
    return sums


def running_totals(x, mesh):
    # asked for at the end, the layout reaches back to the input by itself
    return with_sharding_constraint(
        jnp.cumsum(x, axis=0), NamedSharding(mesh, P(None, ("y", "x")))
    )


def keep_the_batch_apart(batch, w1, w2, mesh):
    hidden = with_sharding_constraint(
        jnp.tanh(batch @ w1), NamedSharding(mesh, P("x", "y"))
    )
    return with_sharding_constraint(hidden @ w2, NamedSharding(mesh, P("x")))


def dense(x, w, b, mesh):
    with jax.sharding.use_abstract_mesh(x.aval.sharding.mesh):
        out = jnp.einsum("rf,fo->ro", x, w, out_sharding=P("x", None))
    return jnp.maximum(out + b, 0)
