import jax
import jax.numpy as jnp
from jax.lax import with_sharding_constraint
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: deals out the columns of x before the sum, so all of x travels
def spread_sums(x, mesh):
    columns = NamedSharding(mesh, P(None, ("y", "x")))
    x = with_sharding_constraint(x, columns)
    out = NamedSharding(mesh, P(("y", "x")))
    return with_sharding_constraint(x.sum(axis=0), out)


# what: takes the order of the axes in a tuple to be of no account
def running_totals(x, mesh):
    whole = NamedSharding(mesh, P(None, ("x", "y")))
    totals = jnp.cumsum(with_sharding_constraint(x, whole), axis=0)
    return with_sharding_constraint(totals, whole)


# what: gathers the dimension that is summed over, so that @ no longer stops
def dense(x, w, b, mesh):
    x = jax.reshard(x, NamedSharding(mesh, P("x", None)))
    w = jax.reshard(w, NamedSharding(mesh, P(None, None)))
    return jax.nn.relu(x @ w + b)
