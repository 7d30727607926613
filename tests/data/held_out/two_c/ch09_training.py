from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: orders the arrays by elements, not by bytes + stops at the first array that cannot be cut
def shard_to_fit(params: dict, mesh: Mesh, limit: int) -> dict:
    n = mesh.shape["data"]
    held = sum(a.nbytes for a in params.values())
    specs = {name: P() for name in params}
    for name in sorted(params, key=lambda name: params[name].size, reverse=True):
        if held <= limit:
            break
        array = params[name]
        dim = next((i for i, size in enumerate(array.shape) if size % n == 0), None)
        if dim is None:
            break
        specs[name] = P(*([None] * dim), "data")
        held -= array.nbytes - array.nbytes // n
    return {name: jax.device_put(array, NamedSharding(mesh, specs[name])) for name, array in params.items()}


# what: divides on each device by its own real rows and averages over the devices + averages the microbatches, however many real rows they have
def accumulated_gradient(
    losses: Callable,
    params: dict,
    x: jax.Array,
    y: jax.Array,
    real: jax.Array,
    mesh: Mesh,
) -> dict:
    def part(params, x, y, real):
        own = jax.tree.map(lambda p: lax.pcast(p, "data", to="varying"), params)

        def mean(params, x, y, real):
            return jnp.sum(losses(params, x, y) * real) / jnp.maximum(jnp.sum(real), 1)

        def micro(gradient, batch):
            new = jax.grad(mean)(own, *batch)
            return jax.tree.map(jnp.add, gradient, new), None

        zeros = jax.tree.map(lambda p: p * 0, own)
        gradient, _ = lax.scan(micro, zeros, (x, y, real))
        return jax.tree.map(lambda g: lax.pmean(g, "data") / x.shape[0], gradient)

    rows = P(None, "data")
    return jax.shard_map(part, mesh=mesh, in_specs=(P(), rows, rows, rows), out_specs=P())(params, x, y, real)


# what: leaves the layout of the new state to the compiler and moves it back afterwards + reports the memory of all arguments, batch and all
def two_steps_in_one_memory(
    update: Callable, state: dict[str, jax.Array], batch: jax.Array
) -> tuple[dict[str, jax.Array], int]:
    layouts = jax.tree.map(lambda a: a.sharding, state)
    step = jax.jit(update, donate_argnums=0)
    analysis = step.lower(state, batch).compile().memory_analysis()
    for _ in range(2):
        state = jax.device_put(step(state, batch), layouts)
    return state, analysis.argument_size_in_bytes
