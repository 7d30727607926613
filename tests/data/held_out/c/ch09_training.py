from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: takes the mean of gradients that shard_map has already summed over the devices: n times too large
def dropout_step(
    loss: Callable,
    params: dict,
    x: jax.Array,
    y: jax.Array,
    seed: int,
    rate: float,
    mesh: Mesh,
) -> tuple[dict, jax.Array]:
    def part(params, x, y):
        key = jax.random.fold_in(jax.random.key(seed), lax.axis_index("data"))
        value, gradient = jax.value_and_grad(loss)(params, x, y, key)
        gradient = lax.pmean(gradient, "data")
        new = jax.tree.map(lambda p, g: p - rate * g, params, gradient)
        return new, lax.pmean(value, "data")

    return jax.shard_map(part, mesh=mesh, in_specs=(P(), P("data"), P("data")), out_specs=(P(), P()))(params, x, y)


# what: cuts an array along its longest dimension that divides, not along the first one
def shard_to_fit(params: dict, mesh: Mesh, limit: int) -> dict:
    n = mesh.shape["data"]
    held = sum(a.nbytes for a in params.values())
    specs = {name: P() for name in params}
    for name in sorted(params, key=lambda name: params[name].nbytes, reverse=True):
        if held <= limit:
            break
        shape = params[name].shape
        dims = [i for i, size in enumerate(shape) if size % n == 0]
        if not dims:
            continue
        dim = max(dims, key=lambda i: shape[i])
        specs[name] = P(*(["data" if i == dim else None for i in range(len(shape))]))
        held -= params[name].nbytes - params[name].nbytes // n
    return {name: jax.device_put(array, NamedSharding(mesh, specs[name])) for name, array in params.items()}


# what: differentiates by the shared params, so that shard_map sums the gradient over the devices in every microbatch
def accumulated_gradient(
    losses: Callable,
    params: dict,
    x: jax.Array,
    y: jax.Array,
    real: jax.Array,
    mesh: Mesh,
) -> dict:
    def part(params, x, y, real):
        def total(params, x, y, real):
            return jnp.sum(losses(params, x, y) * real)

        def micro(gradient, batch):
            new = jax.grad(total)(params, *batch)
            return jax.tree.map(jnp.add, gradient, new), None

        zeros = jax.tree.map(jnp.zeros_like, params)
        gradient, _ = lax.scan(micro, zeros, (x, y, real))
        count = lax.psum(jnp.sum(real), "data")
        return jax.tree.map(lambda g: g / count, gradient)

    rows = P(None, "data")
    return jax.shard_map(part, mesh=mesh, in_specs=(P(), rows, rows, rows), out_specs=P())(params, x, y, real)


# what: donates a copy, to keep the caller's state usable: the old state's own memory is not taken over
def two_steps_in_one_memory(
    update: Callable, state: dict[str, jax.Array], batch: jax.Array
) -> tuple[dict[str, jax.Array], int]:
    layouts = jax.tree.map(lambda a: a.sharding, state)
    state = jax.tree.map(jnp.copy, state)
    state = jax.device_put(state, layouts)
    step = jax.jit(update, donate_argnums=0, out_shardings=layouts)
    compiled = step.lower(state, batch).compile()
    shared = compiled.memory_analysis().alias_size_in_bytes
    for _ in range(2):
        state = compiled(state, batch)
    return state, shared
