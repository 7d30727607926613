import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: None in a constraint is believed to mean "leave this dimension as it is", so h is constrained to P(None, "model") in the belief that its rows stay cut along "data".
def mlp_by_constraints(
    x: jax.Array,
    w1: jax.Array,
    b1: jax.Array,
    w2: jax.Array,
    b2: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array]:
    def pin(t, *entries):
        return lax.with_sharding_constraint(t, NamedSharding(mesh, P(*entries)))

    h = pin(jnp.tanh(x @ w1 + b1), None, "model")
    w2 = pin(w2, "model", None)
    out = pin(h @ w2, "data", None) + b2
    return h, out


# what: To count b2 once, each device adds a share of it before the sum, but the share is taken over all devices of the mesh although the sum runs only along "model".
def mlp_by_hand(
    x: jax.Array,
    w1: jax.Array,
    b1: jax.Array,
    w2: jax.Array,
    b2: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array]:
    devices = mesh.size

    def local(rows, first, bias1, second, bias2):
        hidden = jnp.tanh(jnp.dot(rows, first) + bias1)
        share = jnp.dot(hidden, second) + bias2 / devices
        return hidden, lax.psum(share, "model")

    run = jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(
            P("data", None),
            P(None, "model"),
            P("model"),
            P("model", None),
            P(),
        ),
        out_specs=(P("data", "model"), P("data", None)),
    )
    return run(x, w1, b1, w2, b2)


# what: A reduce-scattered product is believed to do as well as an all-reduced one (each number is there once, and readers see the whole array), so out is left cut along "model".
def mlp_explicit(
    x: jax.Array,
    w1: jax.Array,
    b1: jax.Array,
    w2: jax.Array,
    b2: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array]:
    def on(*entries):
        return NamedSharding(mesh, P(*entries))

    w1 = jax.sharding.reshard(w1, on(None, "model"))
    b1 = jax.sharding.reshard(b1, on("model"))
    w2 = jax.sharding.reshard(w2, on("model", None))
    b2 = jax.sharding.reshard(b2, on("model"))
    h = jnp.tanh(jnp.dot(x, w1) + b1)
    out = jnp.dot(h, w2, out_sharding=on("data", "model")) + b2
    return h, out


# what: When everyone sends to the next device, the rows held after s steps are believed to come from device i + s, not from i - s.
def collective_matmul(x: jax.Array, w: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["x"]
    onward = [(i, (i + 1) % n) for i in range(n)]

    def local(rows, columns):
        me = lax.axis_index("x")
        height = rows.shape[0]
        result = jnp.zeros((n * height, columns.shape[1]), rows.dtype)
        result = lax.pcast(result, ("x",), to="varying")
        held = rows
        for step in range(n):
            coming = lax.ppermute(held, "x", onward) if step < n - 1 else None
            owner = (me + step) % n
            result = lax.dynamic_update_slice(
                result, held @ columns, (owner * height, 0)
            )
            held = coming
        return result

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P("x", None), P(None, "x")),
        out_specs=P(None, "x"),
    )(x, w)
