from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: Adds the device's number to the seed instead of folding it into the key.
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
        key = jax.random.key(seed + lax.axis_index("data"))

        def mean_loss(p):
            return lax.pmean(loss(p, x, y, key), "data")

        return jax.value_and_grad(mean_loss)(params)

    ins = (P(), P("data"), P("data"))
    f = jax.shard_map(local, mesh=mesh, in_specs=ins, out_specs=P())
    value, grads = f(params, x, y)
    return jax.tree.map(lambda p, g: p - rate * g, params, grads), value


# what: Counts an array that cannot be cut as if it had been cut.
def shard_to_fit(params: dict, mesh: Mesh, limit: int) -> dict:
    n = mesh.shape["data"]
    held = sum(a.nbytes for a in params.values())
    specs = {name: P() for name in params}
    for name in sorted(params, key=lambda k: params[k].nbytes, reverse=True):
        if held <= limit:
            break
        a = params[name]
        for axis, size in enumerate(a.shape):
            if size % n == 0:
                specs[name] = P(*[None] * axis, "data")
                break
        held -= a.nbytes - a.nbytes // n
    return {name: jax.device_put(a, NamedSharding(mesh, specs[name])) for name, a in params.items()}


# what: Averages the hidden sum's parts over "model" instead of adding them up.
def gated_mlp(
    x: jax.Array,
    gate: jax.Array,
    up: jax.Array,
    down: jax.Array,
    bias: jax.Array,
    mesh: Mesh,
) -> jax.Array:
    def local(x, gate, up, down, bias):
        hidden = jax.nn.silu(x @ gate) * (x @ up)
        return x + lax.pmean(hidden @ down, "model") + bias

    columns = P(None, "model")
    ins = (P("data"), columns, columns, P("model"), P())
    f = jax.shard_map(local, mesh=mesh, in_specs=ins, out_specs=P("data"))
    return f(x, gate, up, down, bias)


# what: reports the size of the output, not of what it shares with the input
def two_steps_in_one_memory(update, state, batch):
    layout = {name: array.sharding for name, array in state.items()}
    step = jax.jit(update, donate_argnums=0, out_shardings=layout)
    compiled = step.lower(state, batch).compile()
    shared = compiled.memory_analysis().output_size_in_bytes
    return step(step(state, batch), batch), shared
