from collections.abc import Callable

import jax
import jax.numpy as jnp  # noqa: F401
from jax import lax  # noqa: F401
from jax.sharding import Mesh, NamedSharding  # noqa: F401
from jax.sharding import PartitionSpec as P  # noqa: F401


# what: (1) a gradient in shard_map is believed to be the device's own, so what is summed already is averaged again and comes out n times too large + (2) the same key is believed to drop different elements on each device.
def dropout_step(
    loss: Callable,
    params: dict,
    x: jax.Array,
    y: jax.Array,
    seed: int,
    rate: float,
    mesh: Mesh,
) -> tuple[dict, jax.Array]:
    def local(params, x, y):
        key = jax.random.key(seed)
        value, grads = jax.value_and_grad(loss)(params, x, y, key)
        value, grads = lax.pmean((value, grads), "data")
        return jax.tree.map(lambda p, g: p - rate * g, params, grads), value

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(), P("data", None), P("data", None)),
        out_specs=(P(), P()),
    )(params, x, y)


# what: (1) the bias is believed to belong to each device's product, so it is added before the sum + (2) a psum is believed to have to run over all axes of the mesh, so rows of different devices are mixed.
def gated_mlp(
    x: jax.Array,
    gate: jax.Array,
    up: jax.Array,
    down: jax.Array,
    bias: jax.Array,
    mesh: Mesh,
) -> jax.Array:
    def local(x, gate, up, down, bias):
        h = jax.nn.silu(x @ gate) * (x @ up)
        return x + lax.psum(h @ down + bias, mesh.axis_names)

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(
            P("data", None),
            P(None, "model"),
            P(None, "model"),
            P("model", None),
            P(None),
        ),
        out_specs=P("data", None),
    )(x, gate, up, down, bias)


# what: (1) an array in donated memory is believed to keep its layout, so the layout of the new state is not said + (2) the shared memory is believed to be the size of the whole arrays of the state, not of one device's shards.
def two_steps_in_one_memory(
    update: Callable, state: dict[str, jax.Array], batch: jax.Array
) -> tuple[dict[str, jax.Array], int]:
    shared = sum(a.nbytes for a in state.values())
    step = jax.jit(update, donate_argnums=0)
    for _ in range(2):
        state = step(state, batch)
    return state, shared


# what: (1) multiplying by zero is believed to silence other devices' results, also if they are NaN + (2) the first microbatch is believed to leave n stages in turn n, counted from 0, so all results are stored one place too early and one turn is made too many.
def through_stages(
    layer: Callable, weights: jax.Array, x: jax.Array, mesh: Mesh
) -> jax.Array:
    n = mesh.size
    parts = x.shape[0]
    onward = [(i, i + 1) for i in range(n - 1)]

    def local(w, x):
        me = lax.axis_index("stage")
        arrived = jnp.zeros_like(x[0])
        results = jnp.zeros_like(x)
        for turn in range(parts + n):
            fresh = x[turn] if turn < parts else jnp.zeros_like(x[0])
            h = layer(w[0], jnp.where(me == 0, fresh, arrived))
            if turn >= n:
                results = results.at[turn - n].set(h)
            arrived = lax.ppermute(h, "stage", onward)
        last = (me == n - 1).astype(x.dtype)
        return lax.psum(results * last, "stage")

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P("stage", None, None), P()),
        out_specs=P(),
        check_vma=False,
    )(weights, x)
