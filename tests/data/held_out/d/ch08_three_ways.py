import jax
import jax.numpy as jnp
from jax import lax
from jax.lax import with_sharding_constraint
from jax.sharding import Mesh, NamedSharding, reshard
from jax.sharding import PartitionSpec as P


# what: cuts both weights by their columns, as if each layer were column parallel
def mlp_by_constraints(
    x: jax.Array,
    w1: jax.Array,
    b1: jax.Array,
    w2: jax.Array,
    b2: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array]:
    def lie(array, *entries):
        return with_sharding_constraint(array, NamedSharding(mesh, P(*entries)))

    w1 = lie(w1, None, "model")
    w2 = lie(w2, None, "model")
    h = lie(jnp.tanh(x @ w1 + b1), "data", "model")
    product = lie(h @ w2, "data", "model")
    return h, lie(product + b2, "data", None)


# what: only bytes have to be saved: every device has all weights, so each computes the whole and keeps its part
def mlp_by_hand(
    x: jax.Array,
    w1: jax.Array,
    b1: jax.Array,
    w2: jax.Array,
    b2: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array]:
    width = w1.shape[1] // mesh.shape["model"]

    def one(x, w1, b1, w2, b2):
        h = jnp.tanh(x @ w1 + b1)
        out = h @ w2 + b2
        start = lax.axis_index("model") * width
        return lax.dynamic_slice_in_dim(h, start, width, axis=1), out

    return jax.shard_map(
        one,
        mesh=mesh,
        in_specs=(P("data", None), P(), P(), P(), P()),
        out_specs=(P("data", "model"), P("data", None)),
    )(x, w1, b1, w2, b2)


# what: lets the product come out cut along "model" and gathers it afterwards; that is the same bytes as one all-reduce
def mlp_explicit(
    x: jax.Array,
    w1: jax.Array,
    b1: jax.Array,
    w2: jax.Array,
    b2: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array]:
    def lie(array, *entries):
        return reshard(array, NamedSharding(mesh, P(*entries)))

    w1 = lie(w1, None, "model")
    b1 = lie(b1, "model")
    w2 = lie(w2, "model", None)
    h = jnp.tanh(x @ w1 + b1)
    product = jnp.dot(h, w2, out_sharding=NamedSharding(mesh, P("data", "model")))
    return h, lie(product, "data", None) + b2


# what: n products need n permutes; the last one only brings the rows home, but it is sent
def collective_matmul(x: jax.Array, w: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["x"]
    to_next = [(i, (i + 1) % n) for i in range(n)]

    def one(x, w):
        me = lax.axis_index("x")
        rows = x.shape[0]

        def step(s, carry):
            block, out = carry
            following = lax.ppermute(block, "x", to_next)
            start = ((me - s) % n) * rows
            out = lax.dynamic_update_slice_in_dim(out, block @ w, start, axis=0)
            return following, out

        out = jnp.zeros((n * rows, w.shape[1]), x.dtype)
        _, out = lax.fori_loop(0, n, step, (x, out))
        return out

    return jax.shard_map(
        one,
        mesh=mesh,
        in_specs=(P("x", None), P(None, "x")),
        out_specs=P(None, "x"),
        check_vma=False,
    )(x, w)
