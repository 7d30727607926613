import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh
from jax.sharding import NamedSharding
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


# what: Sends both ways around the ring and thinks that (n - 1) // 2 steps each way reach everybody, also for an even n, where the rows of the device opposite never come.
def collective_matmul(x: jax.Array, w: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["x"]
    right = [(i, (i + 1) % n) for i in range(n)]
    left = [(i, (i - 1) % n) for i in range(n)]

    def body(mine, columns):
        height = mine.shape[0]
        me = lax.axis_index("x")

        def fill(out, part, whose):
            return lax.dynamic_update_slice_in_dim(
                out, part @ columns, (whose % n) * height, axis=0
            )

        out = jnp.zeros((n * height, columns.shape[1]), mine.dtype)
        out = lax.pcast(out, "x", to="varying")
        clockwise = counter = mine
        for step in range((n - 1) // 2):
            next_clockwise = lax.ppermute(clockwise, "x", right)
            next_counter = lax.ppermute(counter, "x", left)
            if step == 0:
                out = fill(out, mine, me)
            else:
                out = fill(out, clockwise, me - step)
                out = fill(out, counter, me + step)
            clockwise, counter = next_clockwise, next_counter
        last = (n - 1) // 2
        out = fill(out, clockwise, me - last)
        return fill(out, counter, me + last)

    return jax.shard_map(
        body,
        mesh=mesh,
        in_specs=(P("x", None), P(None, "x")),
        out_specs=P(None, "x"),
    )(x, w)
