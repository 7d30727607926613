import jax
import jax.numpy as jnp
from jax.lax import with_sharding_constraint
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: gathers the rows of x before the sum + leaves copies along "x"
def spread_sums(x, mesh):
    x = with_sharding_constraint(x, NamedSharding(mesh, P(None, "y")))
    out = NamedSharding(mesh, P("y"))
    return with_sharding_constraint(x.sum(axis=0), out)


# what: gathers whole rows along "y" first + cuts the result by "y", then "x"
def running_totals(x, mesh):
    x = with_sharding_constraint(x, NamedSharding(mesh, P(None, "y")))
    out = NamedSharding(mesh, P(None, ("x", "y")))
    return with_sharding_constraint(jnp.cumsum(x, axis=0), out)


# what: adds the bias after the relu + leaves the outputs cut along "y"
def dense(x, w, b, mesh):
    both = NamedSharding(mesh, P("x", "y"))
    return jax.nn.relu(jnp.dot(x, w, out_sharding=both)) + b
