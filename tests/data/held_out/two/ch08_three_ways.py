import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def at(mesh, *spec):
    return NamedSharding(mesh, P(*spec))


# what: computes all of h on each device + leaves out cut along "model"
def mlp_by_constraints(x, w1, b1, w2, b2, mesh):
    lay = lax.with_sharding_constraint
    both = at(mesh, "data", "model")
    h = jnp.tanh(lay(x @ w1, at(mesh, "data", None)) + b1)
    h = lay(h, both)
    return h, lay(h @ lay(w2, at(mesh, "model", None)) + b2, both)


# what: adds b2 once for each device + joins the copies of out along "model"
def mlp_by_hand(x, w1, b1, w2, b2, mesh):
    def each(x, w1, b1, w2, b2):
        h = jnp.tanh(x @ w1 + b1)
        return h, lax.psum(h @ w2 + b2, "model")

    cut = P(None, "model"), P("model"), P("model", None), P()
    return jax.shard_map(
        each,
        mesh=mesh,
        in_specs=(P("data", None), *cut),
        out_specs=P("data", "model"),
    )(x, w1, b1, w2, b2)


# what: leaves w1 and so h whole along "model" + cuts w2's columns and so out
def mlp_explicit(x, w1, b1, w2, b2, mesh):
    h = jnp.tanh(x @ w1 + b1)
    w2 = jax.reshard(w2, at(mesh, None, "model"))
    b2 = jax.reshard(b2, at(mesh, "model"))
    return h, h @ w2 + b2


# what: permutes once more after the last product + takes rows to come from i+1
def collective_matmul(x, w, mesh):
    n = mesh.shape["x"]
    size = x.shape[0] // n
    right = [(i, (i + 1) % n) for i in range(n)]

    def each(rows, w):
        me = lax.axis_index("x")

        def turn(step, carry):
            out, rows = carry
            first = (me + step) % n * size
            out = lax.dynamic_update_slice_in_dim(out, rows @ w, first, 0)
            return out, lax.ppermute(rows, "x", right)

        out = jnp.zeros((x.shape[0], w.shape[1]), x.dtype)
        out = lax.pcast(out, "x", to="varying")
        return lax.fori_loop(0, n, turn, (out, rows))[0]

    return jax.shard_map(
        each,
        mesh=mesh,
        in_specs=(P("x", None), P(None, "x")),
        out_specs=P(None, "x"),
    )(x, w)
