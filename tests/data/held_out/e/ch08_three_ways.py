import jax
import jax.numpy as jnp  # noqa: F401
from jax import lax  # noqa: F401
from jax.sharding import Mesh, NamedSharding  # noqa: F401
from jax.sharding import PartitionSpec as P  # noqa: F401


# what: tensor parallelism is believed to mean that both weights are cut along their output features, which makes every device gather h.
def mlp_by_constraints(
    x: jax.Array,
    w1: jax.Array,
    b1: jax.Array,
    w2: jax.Array,
    b2: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array]:
    def lay(a, *spec):
        return lax.with_sharding_constraint(a, NamedSharding(mesh, P(*spec)))

    w1 = lay(w1, None, "model")
    b1 = lay(b1, "model")
    w2 = lay(w2, None, "model")
    b2 = lay(b2, "model")
    h = lay(jnp.tanh(x @ w1 + b1), "data", "model")
    out = lay(h @ w2 + b2, "data", "model")
    return h, lay(out, "data", None)


# what: the bias is believed to belong to each device's own product, so it is added before the sum, once per device along "model".
def mlp_by_hand(
    x: jax.Array,
    w1: jax.Array,
    b1: jax.Array,
    w2: jax.Array,
    b2: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array]:
    def local(x, w1, b1, w2, b2):
        h = jnp.tanh(x @ w1 + b1)
        out = lax.psum(h @ w2 + b2, "model")
        return h, out

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(
            P("data", None), P(None, "model"), P("model"), P("model", None), P()
        ),
        out_specs=(P("data", "model"), P("data", None)),
    )(x, w1, b1, w2, b2)


# what: resharding the finished h is believed to divide the work; each device computes all hidden features of its rows and throws most of them away.
def mlp_explicit(
    x: jax.Array,
    w1: jax.Array,
    b1: jax.Array,
    w2: jax.Array,
    b2: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array]:
    def lay(a, *spec):
        return jax.sharding.reshard(a, NamedSharding(mesh, P(*spec)))

    h = lay(jnp.tanh(x @ w1 + b1), "data", "model")
    w2 = lay(w2, "model", None)
    out = jnp.dot(h, w2, out_sharding=NamedSharding(mesh, P("data", None)))
    return h, out + b2


# what: when everyone passes its rows to the next device, a device is believed to hold the rows of the next one, not of the one before.
def collective_matmul(x: jax.Array, w: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["x"]
    ring = [(i, (i + 1) % n) for i in range(n)]

    def local(rows, columns):
        me = lax.axis_index("x")
        height = rows.shape[0]
        out = jnp.zeros((n * height, columns.shape[1]), rows.dtype)
        for step in range(n):
            coming = lax.ppermute(rows, "x", ring) if step < n - 1 else None
            owner = (me + step) % n
            out = lax.dynamic_update_slice_in_dim(
                out, rows @ columns, owner * height, 0
            )
            rows = coming
        return out

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P("x", None), P(None, "x")),
        out_specs=P(None, "x"),
        check_vma=False,
    )(x, w)
