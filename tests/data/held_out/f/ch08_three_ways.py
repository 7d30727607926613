import jax
import jax.numpy as jnp  # noqa: F401
from jax import lax  # noqa: F401
from jax.sharding import Mesh, NamedSharding  # noqa: F401
from jax.sharding import PartitionSpec as P  # noqa: F401


# what: Believes that with_sharding_constraint marks the array that it is given, so its result is not used.
def mlp_by_constraints(
    x: jax.Array,
    w1: jax.Array,
    b1: jax.Array,
    w2: jax.Array,
    b2: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array]:
    def lies(array, *axes):
        lax.with_sharding_constraint(array, NamedSharding(mesh, P(*axes)))

    lies(w1, None, "model")
    lies(b1, "model")
    lies(w2, "model", None)
    h = jnp.tanh(jnp.dot(x, w1) + b1)
    lies(h, "data", "model")
    out = jnp.dot(h, w2) + b2
    lies(out, "data", None)
    return h, out


# what: So that the bias is added only once, just one device of the whole mesh adds it, though every part of the rows along "data" has a sum of its own and needs it.
def mlp_by_hand(
    x: jax.Array,
    w1: jax.Array,
    b1: jax.Array,
    w2: jax.Array,
    b2: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array]:
    def one_device(x, w1, b1, w2, b2):
        h = jnp.tanh(x @ w1 + b1)
        first = (lax.axis_index("data") == 0) & (lax.axis_index("model") == 0)
        bias = jnp.where(first, b2, jnp.zeros_like(b2))
        out = lax.psum(h @ w2 + bias, "model")
        return h, out

    divided = jax.shard_map(
        one_device,
        mesh=mesh,
        in_specs=(
            P("data", None),
            P(None, "model"),
            P("model"),
            P("model", None),
            P(None),
        ),
        out_specs=(P("data", "model"), P("data", None)),
    )
    return divided(x, w1, b1, w2, b2)


# what: Thinks that on Explicit axes each device adds the bias to its own part of the sum, and so divides b2 by the size of "model", while the code means the whole array.
def mlp_explicit(
    x: jax.Array,
    w1: jax.Array,
    b1: jax.Array,
    w2: jax.Array,
    b2: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array]:
    def typed(array, *axes):
        return jax.sharding.reshard(array, NamedSharding(mesh, P(*axes)))

    first = typed(w1, None, "model")
    second = typed(w2, "model", None)
    h = jnp.tanh(x @ first + typed(b1, "model"))
    share = b2 / mesh.shape["model"]
    out = jnp.einsum(
        "rh,hf->rf",
        h,
        second,
        out_sharding=NamedSharding(mesh, P("data", None)),
    )
    return h, out + share


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
