import jax
import jax.numpy as jnp
from jax import lax
from jax.lax import with_sharding_constraint
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: cuts w2, like w1, along its columns, so that the hidden features must be gathered
def mlp_by_constraints(
    x: jax.Array,
    w1: jax.Array,
    b1: jax.Array,
    w2: jax.Array,
    b2: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array]:
    def lay(array, *entries):
        return with_sharding_constraint(array, NamedSharding(mesh, P(*entries)))

    w1 = lay(w1, None, "model")
    b1 = lay(b1, "model")
    w2 = lay(w2, None, "model")
    h = lay(jnp.tanh(x @ w1 + b1), "data", "model")
    out = lay(h @ w2 + b2, "data", None)
    return h, out


# what: every device computes all hidden features of its rows and then keeps its share: the first layer's work is not divided
def mlp_by_hand(
    x: jax.Array,
    w1: jax.Array,
    b1: jax.Array,
    w2: jax.Array,
    b2: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array]:
    share = w1.shape[1] // mesh.shape["model"]

    def part(x, w1, b1, w2, b2):
        begin = lax.axis_index("model") * share
        h = jnp.tanh(x @ w1 + b1)
        h = lax.dynamic_slice_in_dim(h, begin, share, axis=1)
        out = lax.psum(h @ w2, "model") + b2
        return h, out

    return jax.shard_map(
        part,
        mesh=mesh,
        in_specs=(P("data", None), P(), P(), P("model", None), P()),
        out_specs=(P("data", "model"), P("data", None)),
    )(x, w1, b1, w2, b2)


# what: answers the second product with features cut along "model" and gathers them afterwards: not an all-reduce alone
def mlp_explicit(
    x: jax.Array,
    w1: jax.Array,
    b1: jax.Array,
    w2: jax.Array,
    b2: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array]:
    w1 = jax.sharding.reshard(w1, NamedSharding(mesh, P(None, "model")))
    b1 = jax.sharding.reshard(b1, NamedSharding(mesh, P("model")))
    w2 = jax.sharding.reshard(w2, NamedSharding(mesh, P("model", None)))
    h = jnp.tanh(x @ w1 + b1)
    cut = jnp.dot(h, w2, out_sharding=NamedSharding(mesh, P("data", "model")))
    out = jax.sharding.reshard(cut, NamedSharding(mesh, P("data", None)))
    return h, out + b2


# what: in each step of the loop it first fetches the next rows and then multiplies just these: the product waits for the permute
def collective_matmul(x: jax.Array, w: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["x"]
    ring = [(i, (i + 1) % n) for i in range(n)]

    def part(rows, weights):
        me = lax.axis_index("x")
        height = rows.shape[0]

        def put(result, rows, owner):
            return lax.dynamic_update_slice_in_dim(result, rows @ weights, owner * height, axis=0)

        def step(i, carry):
            rows, result = carry
            rows = lax.ppermute(rows, "x", ring)
            return rows, put(result, rows, (me - i) % n)

        result = jnp.zeros((n * height, weights.shape[1]), rows.dtype)
        result = put(lax.pcast(result, "x", to="varying"), rows, me)
        return lax.fori_loop(1, n, step, (rows, result))[1]

    return jax.shard_map(
        part,
        mesh=mesh,
        in_specs=(P("x", None), P(None, "x")),
        out_specs=P(None, "x"),
    )(x, w)
