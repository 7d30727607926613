import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def at(mesh, *spec):
    return NamedSharding(mesh, P(*spec))


# what: constrains the parameters as one tree, and the sum before its bias
def mlp_by_constraints(x, w1, b1, w2, b2, mesh):
    lay = lax.with_sharding_constraint
    layout = {
        "w1": at(mesh, None, "model"),
        "b1": at(mesh, "model"),
        "w2": at(mesh, "model", None),
    }
    own = lay({"w1": w1, "b1": b1, "w2": w2}, layout)
    total = jnp.einsum("rf,fh->rh", x, own["w1"]) + own["b1"]
    h = lay(jnp.tanh(total), at(mesh, "data", "model"))
    out = lay(jnp.einsum("rh,hf->rf", h, own["w2"]), at(mesh, "data", None))
    return h, lay(out + b2, at(mesh, "data", None))


# what: takes the weights whole and slices each device's share by its index
def mlp_by_hand(x, w1, b1, w2, b2, mesh):
    size = w1.shape[1] // mesh.shape["model"]

    def each(x, w1, b1, w2, b2):
        first = lax.axis_index("model") * size
        w1 = lax.dynamic_slice_in_dim(w1, first, size, axis=1)
        b1 = lax.dynamic_slice_in_dim(b1, first, size)
        w2 = lax.dynamic_slice_in_dim(w2, first, size)
        h = jnp.tanh(x @ w1 + b1)
        return h, b2 + lax.psum(h @ w2, "model")

    return jax.shard_map(
        each,
        mesh=mesh,
        in_specs=(P("data", None), P(), P(), P(), P()),
        out_specs=(P("data", "model"), P("data", None)),
    )(x, w1, b1, w2, b2)


# what: lax.dot_general for both products, both with out_sharding
def mlp_explicit(x, w1, b1, w2, b2, mesh):
    inner = (((1,), (0,)), ((), ()))
    both, rows = at(mesh, "data", "model"), at(mesh, "data", None)
    w1 = jax.reshard(w1, at(mesh, None, "model"))
    b1 = jax.reshard(b1, at(mesh, "model"))
    w2 = jax.reshard(w2, at(mesh, "model", None))
    h = jnp.tanh(lax.dot_general(x, w1, inner, out_sharding=both) + b1)
    return h, lax.dot_general(h, w2, inner, out_sharding=rows) + b2


# what: a loop that passes rows to the left and fills a stack of products
def collective_matmul(x, w, mesh):
    n = mesh.shape["x"]
    left = [(i, (i - 1) % n) for i in range(n)]

    def each(rows, w):
        me = lax.axis_index("x")

        def put(out, rows, step):
            owner = (me + step) % n
            return lax.dynamic_update_index_in_dim(out, rows @ w, owner, 0)

        def turn(step, carry):
            out, rows = carry
            after = lax.ppermute(rows, "x", left)
            return put(out, rows, step), after

        out = jnp.zeros((n, rows.shape[0], w.shape[1]), x.dtype)
        out = lax.pcast(out, "x", to="varying")
        out, rows = lax.fori_loop(0, n - 1, turn, (out, rows))
        return put(out, rows, n - 1).reshape(x.shape[0], w.shape[1])

    return jax.shard_map(
        each,
        mesh=mesh,
        in_specs=(P("x", None), P(None, "x")),
        out_specs=P(None, "x"),
    )(x, w)
