import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def at(mesh, *spec):
    return NamedSharding(mesh, P(*spec))


# what: constrains the first product to its rows, so each device does all of it
def mlp_by_constraints(x, w1, b1, w2, b2, mesh):
    lay = lax.with_sharding_constraint
    rows = at(mesh, "data", None)
    h = jnp.tanh(lay(x @ w1, rows) + b1)
    h = lay(h, at(mesh, "data", "model"))
    return h, lay(h @ lay(w2, at(mesh, "model", None)), rows) + b2


# what: gathers h along "model" and multiplies it with all of w2
def mlp_by_hand(x, w1, b1, w2, b2, mesh):
    def each(x, w1, b1, w2, b2):
        h = jnp.tanh(x @ w1 + b1)
        whole = lax.all_gather(h, "model", axis=1, tiled=True)
        return h, whole @ w2 + b2

    return jax.shard_map(
        each,
        mesh=mesh,
        in_specs=(P("data", None), P(None, "model"), P("model"), P(), P()),
        out_specs=(P("data", "model"), P("data", None)),
        check_vma=False,
    )(x, w1, b1, w2, b2)


# what: cuts h only when it is computed, so each device computes all of it
def mlp_explicit(x, w1, b1, w2, b2, mesh):
    h = jax.reshard(jnp.tanh(x @ w1 + b1), at(mesh, "data", "model"))
    w2 = jax.reshard(w2, at(mesh, "model", None))
    return h, jnp.dot(h, w2, out_sharding=at(mesh, "data", None)) + b2


# what: in each turn receives rows first and then multiplies these same rows
def collective_matmul(x, w, mesh):
    n = mesh.shape["x"]
    size = x.shape[0] // n
    right = [(i, (i + 1) % n) for i in range(n)]

    def each(rows, w):
        me = lax.axis_index("x")

        def put(out, rows, owner):
            return lax.dynamic_update_slice_in_dim(out, rows @ w, owner * size, 0)

        def turn(step, carry):
            out, rows = carry
            rows = lax.ppermute(rows, "x", right)
            return put(out, rows, (me - step) % n), rows

        out = jnp.zeros((x.shape[0], w.shape[1]), x.dtype)
        out = put(lax.pcast(out, "x", to="varying"), rows, me)
        return lax.fori_loop(1, n, turn, (out, rows))[0]

    return jax.shard_map(
        each,
        mesh=mesh,
        in_specs=(P("x", None), P(None, "x")),
        out_specs=P(None, "x"),
    )(x, w)
