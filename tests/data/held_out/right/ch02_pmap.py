from collections.abc import Callable

import jax
import jax.numpy as jnp

import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def line(n):
    return Mesh(np.array(jax.devices()[:n]), ("d",))


# what: shard_map over a mesh of the first num_devices devices, no pmap
def parallel_predict(predict, params, batch, num_devices):
    mesh = line(num_devices)
    rows = batch.shape[0] // num_devices
    cut = batch.reshape(num_devices, rows, batch.shape[1])
    cut = jax.device_put(cut, NamedSharding(mesh, P("d")))
    params = jax.device_put(params, NamedSharding(mesh, P()))
    run = jax.shard_map(
        lambda params, block: predict(params, block[0])[None],
        mesh=mesh,
        in_specs=(P(), P("d")),
        out_specs=P("d"),
    )
    return jax.jit(run)(params, cut)


# what: jit on sharded rows: the loss of all rows at once, the compiler adds
def train_step(loss, params, inputs, targets, rate):
    mesh = line(len(inputs))
    cut, copy = NamedSharding(mesh, P("d")), NamedSharding(mesh, P())

    def step(params, inputs, targets):
        inputs = inputs.reshape(-1, inputs.shape[-1])
        targets = targets.reshape(-1, targets.shape[-1])
        gradient = jax.grad(loss)(params, inputs, targets)
        return jax.tree.map(lambda p, g: p - rate * g, params, gradient)

    params = jax.device_put(params, copy)
    inputs, targets = jax.device_put((inputs, targets), cut)
    return jax.jit(step, out_shardings=copy)(params, inputs, targets)


# what: shard_map, and one psum of sum and count in a vector of two numbers
def masked_mean(x, mask):
    def mean(x, mask):
        real = jnp.where(mask != 0, x, 0)
        total = jax.lax.psum(jnp.stack([real.sum(), mask.sum()]), "d")
        return total[0] / total[1]

    return jax.shard_map(
        mean, mesh=line(len(x)), in_specs=P("d"), out_specs=P()
    )(x, mask)


# what: splits the tree in two arguments, one cut and one shared, and merges
def mixed_predict(predict, params, inputs):
    def part(own):
        return {
            layer: {
                name: array
                for name, array in arrays.items()
                if name.startswith("own_") == own
            }
            for layer, arrays in params.items()
        }

    def one(own, shared, rows):
        merged = {
            layer: {name: (own[layer] | shared[layer])[name] for name in arrays}
            for layer, arrays in params.items()
        }
        return predict(merged, rows)

    run = jax.pmap(one, in_axes=(0, None, 0))
    return run(part(True), part(False), inputs)
