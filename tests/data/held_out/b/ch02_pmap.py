from collections.abc import Callable

import jax
import jax.numpy as jnp

import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


# what: gathers the predictions, so every device holds all of them
def parallel_predict(predict, params, batch, num_devices):
    def gathered(params, inputs):
        return jax.lax.all_gather(predict(params, inputs), "batch")

    cut = batch.reshape(num_devices, -1, batch.shape[1])
    run = jax.pmap(gathered, "batch", in_axes=(None, 0), out_axes=None)
    return run(params, cut)


# what: brings the new parameters back to the host, as NumPy arrays
def train_step(loss, params, inputs, targets, rate):
    def step(params, inputs, targets):
        local = jax.grad(loss)(params, inputs, targets)
        mean = jax.lax.pmean(local, "batch")
        return jax.tree.map(lambda p, g: p - rate * g, params, mean)

    run = jax.pmap(step, "batch", in_axes=(None, 0, 0), out_axes=None)
    return jax.device_get(run(params, inputs, targets))


# what: adds up whole rows over the devices before it sums them locally
def masked_mean(x, mask):
    def mean(x, mask):
        total, count = jax.lax.psum((x * mask, mask), "batch")
        return total.sum() / count.sum()

    return jax.pmap(mean, "batch", out_axes=None)(x, mask)


# what: takes shard_map to drop the cut dimension of own arrays, as pmap does
def mixed_predict(predict, params, inputs):
    mesh = Mesh(np.array(jax.devices()[: len(inputs)]), ("d",))
    specs = {
        layer: {
            name: P("d") if name.startswith("own_") else P()
            for name in arrays
        }
        for layer, arrays in params.items()
    }

    def one(params, rows):
        return predict(params, rows[0])[None]

    run = jax.shard_map(
        one, mesh=mesh, in_specs=(specs, P("d")), out_specs=P("d")
    )
    return jax.jit(run)(params, inputs)
