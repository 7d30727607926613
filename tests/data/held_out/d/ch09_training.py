from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, NamedSharding, reshard
from jax.sharding import PartitionSpec as P


# what: divides by the number of devices once more, although the mean is already inside what is differentiated
def dropout_step(
    loss: Callable,
    params: dict,
    x: jax.Array,
    y: jax.Array,
    seed: int,
    rate: float,
    mesh: Mesh,
) -> tuple[dict, jax.Array]:
    n = mesh.shape["data"]

    def one(params, x, y):
        key = jax.random.fold_in(jax.random.key(seed), lax.axis_index("data"))

        def mean(params):
            return lax.pmean(loss(params, x, y, key), "data")

        value, gradient = jax.value_and_grad(mean)(params)
        # The gradients come back summed over the devices.
        new = jax.tree.map(lambda p, g: p - rate * g / n, params, gradient)
        return new, value

    return jax.shard_map(
        one,
        mesh=mesh,
        in_specs=(P(), P("data"), P("data")),
        out_specs=(P(), P()),
    )(params, x, y)


# what: an array can only be cut along dimension 0; where that does not divide, it stays whole
def shard_to_fit(params: dict, mesh: Mesh, limit: int) -> dict:
    n = mesh.shape["data"]
    specs = {name: P() for name in params}
    held = sum(array.nbytes for array in params.values())
    by_size = sorted(params, key=lambda name: params[name].nbytes, reverse=True)
    for name in by_size:
        if held <= limit:
            break
        array = params[name]
        if array.ndim and array.shape[0] % n == 0:
            specs[name] = P("data")
            held -= array.nbytes - array.nbytes // n
    return {name: jax.device_put(array, NamedSharding(mesh, specs[name])) for name, array in params.items()}


# what: the sum over the devices that JAX adds to a gradient of shared params is made once, after the loop
def accumulated_gradient(
    losses: Callable,
    params: dict,
    x: jax.Array,
    y: jax.Array,
    real: jax.Array,
    mesh: Mesh,
) -> dict:
    def one(params, x, y, real):
        count = lax.psum(jnp.sum(real), "data")

        def add(total, batch):
            x, y, real = batch

            def summed(params):
                return jnp.sum(losses(params, x, y) * real)

            return jax.tree.map(jnp.add, total, jax.grad(summed)(params)), None

        zero = jax.tree.map(jnp.zeros_like, params)
        total, _ = lax.scan(add, zero, (x, y, real))
        # Unvarying params have gradients that are summed over "data" already.
        return jax.tree.map(lambda g: g / count, total)

    cut = P(None, "data")
    return jax.shard_map(one, mesh=mesh, in_specs=(P(), cut, cut, cut), out_specs=P())(params, x, y, real)


# what: memory_analysis() counts all devices together, so one device's bytes are a fraction of it
def two_steps_in_one_memory(
    update: Callable, state: dict[str, jax.Array], batch: jax.Array
) -> tuple[dict[str, jax.Array], int]:
    layouts = jax.tree.map(lambda array: array.sharding, state)
    devices = next(iter(state.values())).sharding.mesh.size
    compiled = jax.jit(update, donate_argnums=0, out_shardings=layouts).lower(state, batch).compile()
    shared = compiled.memory_analysis().alias_size_in_bytes
    for _ in range(2):
        state = compiled(state, batch)
    return state, shared // devices
