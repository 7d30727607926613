from collections.abc import Callable

import jax
import jax.numpy as jnp

import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def line(n):
    return Mesh(np.array(jax.devices()[:n]), ("d",))


# what: shard_map, and one psum of sum and count in a vector of two numbers
def masked_mean(x, mask):
    def mean(x, mask):
        real = jnp.where(mask != 0, x, 0)
        total = jax.lax.psum(jnp.stack([real.sum(), mask.sum()]), "d")
        return total[0] / total[1]

    return jax.shard_map(mean, mesh=line(len(x)), in_specs=P("d"), out_specs=P())(x, mask)


# what: splits the tree in two arguments, one cut and one shared, and merges
def mixed_predict(predict, params, inputs):
    def part(own):
        return {
            layer: {name: array for name, array in arrays.items() if name.startswith("own_") == own}
            for layer, arrays in params.items()
        }

    def one(own, shared, rows):
        merged = {
            layer: {name: (own[layer] | shared[layer])[name] for name in arrays} for layer, arrays in params.items()
        }
        return predict(merged, rows)

    run = jax.pmap(one, in_axes=(0, None, 0))
    return run(part(True), part(False), inputs)
