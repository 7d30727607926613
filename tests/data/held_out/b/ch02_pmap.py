from collections.abc import Callable

import jax
import jax.numpy as jnp

import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


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
        layer: {name: P("d") if name.startswith("own_") else P() for name in arrays} for layer, arrays in params.items()
    }

    def one(params, rows):
        return predict(params, rows[0])[None]

    run = jax.shard_map(one, mesh=mesh, in_specs=(specs, P("d")), out_specs=P("d"))
    return jax.jit(run)(params, inputs)
