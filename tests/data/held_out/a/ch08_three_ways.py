import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def at(mesh, *spec):
    return NamedSharding(mesh, P(*spec))


# what: cuts the columns of both weights, so out must be gathered
def mlp_by_constraints(x, w1, b1, w2, b2, mesh):
    lay = lax.with_sharding_constraint
    columns, both = at(mesh, None, "model"), at(mesh, "data", "model")
    h = lay(jnp.tanh(x @ lay(w1, columns) + b1), both)
    out = lay(h @ lay(w2, columns) + b2, both)
    return h, lay(out, at(mesh, "data", None))


# what: scatters the sum along "model" first, and then gathers it
def mlp_explicit(x, w1, b1, w2, b2, mesh):
    w1 = jax.reshard(w1, at(mesh, None, "model"))
    b1 = jax.reshard(b1, at(mesh, "model"))
    w2 = jax.reshard(w2, at(mesh, "model", None))
    h = jnp.tanh(x @ w1 + b1)
    part = jnp.dot(h, w2, out_sharding=at(mesh, "data", "model"))
    return h, jax.reshard(part, at(mesh, "data", None)) + b2


# what: joins the products in the order in which their rows arrive
def collective_matmul(x, w, mesh):
    n = mesh.shape["x"]
    right = [(i, (i + 1) % n) for i in range(n)]

    def each(rows, w):
        products = []
        for _ in range(n - 1):
            after = lax.ppermute(rows, "x", right)
            products.append(rows @ w)
            rows = after
        products.append(rows @ w)
        return jnp.concatenate(products)

    return jax.shard_map(
        each,
        mesh=mesh,
        in_specs=(P("x", None), P(None, "x")),
        out_specs=P(None, "x"),
    )(x, w)
