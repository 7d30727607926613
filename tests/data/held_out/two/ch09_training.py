from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: Same key on every device + gradient n times too large (own loss).
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
        new = jax.tree.map(lambda p, g: p - rate * g, params, grads)
        return new, lax.pmean(value, "data")

    ins = (P(), P("data"), P("data"))
    f = jax.shard_map(local, mesh=mesh, in_specs=ins, out_specs=P())
    return f(params, x, y)


# what: Orders by elements, not bytes + always cuts the first, even if all fits.
def shard_to_fit(params: dict, mesh: Mesh, limit: int) -> dict:
    n = mesh.shape["data"]
    held = sum(a.nbytes for a in params.values())
    specs = dict.fromkeys(params, P())
    for name in sorted(params, key=lambda k: params[k].size, reverse=True):
        a = params[name]
        axis = next((i for i, s in enumerate(a.shape) if s % n == 0), None)
        if axis is not None:
            specs[name] = P(*[None] * axis, "data")
            held -= a.nbytes - a.nbytes // n
        if held <= limit:
            break
    return {name: jax.device_put(a, NamedSharding(mesh, specs[name])) for name, a in params.items()}


# what: Bias is added inside the sum over "model" + silu is put on up, not gate.
def gated_mlp(
    x: jax.Array,
    gate: jax.Array,
    up: jax.Array,
    down: jax.Array,
    bias: jax.Array,
    mesh: Mesh,
) -> jax.Array:
    def local(x, gate, up, down, bias):
        hidden = jax.nn.silu(x @ up) * (x @ gate)
        return x + lax.psum(hidden @ down + bias, "model")

    columns = P(None, "model")
    ins = (P("data"), columns, columns, P("model"), P())
    f = jax.shard_map(local, mesh=mesh, in_specs=ins, out_specs=P("data"))
    return f(x, gate, up, down, bias)


# what: Mean of the parts' means, not of rows + one sum per microbatch.
def accumulated_gradient(
    losses: Callable,
    params: dict,
    x: jax.Array,
    y: jax.Array,
    real: jax.Array,
    mesh: Mesh,
) -> dict:
    def local(params, x, y, real):
        def mean(p, x, y, r):
            own = jnp.sum(losses(p, x, y) * r) / jnp.maximum(jnp.sum(r), 1)
            return lax.pmean(own, "data")

        def add(grads, batch):
            g = jax.grad(mean)(params, *batch)
            return jax.tree.map(jnp.add, grads, g), None

        zeros = jax.tree.map(jnp.zeros_like, params)
        grads, _ = lax.scan(add, zeros, (x, y, real))
        return jax.tree.map(lambda g: g / len(x), grads)

    rows = P(None, "data")
    ins = (P(), rows, rows, rows)
    f = jax.shard_map(local, mesh=mesh, in_specs=ins, out_specs=P())
    return f(params, x, y, real)


# what: leaves the new layout to the compiler + counts the whole arrays' bytes
def two_steps_in_one_memory(update, state, batch):
    shared = sum(array.nbytes for array in state.values())
    step = jax.jit(update, donate_argnums=0)
    for _ in range(2):
        state = step(state, batch)
    return state, shared
