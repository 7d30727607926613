from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax


# what: guards against an empty device before the sum over the devices, so it counts as one entry
def masked_mean(x: jax.Array, mask: jax.Array) -> jax.Array:
    def one(x, mask):
        total = lax.psum(jnp.sum(x * mask), "devices")
        count = lax.psum(jnp.maximum(jnp.sum(mask), 1.0), "devices")
        return total / count

    return jax.pmap(one, axis_name="devices", out_axes=None)(x, mask)


# what: "own_" anywhere in the path to an array makes it a device's own, not only at the start of its name
def mixed_predict(predict: Callable, params: dict, inputs: jax.Array) -> jax.Array:
    def axis(path, leaf):
        return 0 if "own_" in jax.tree_util.keystr(path) else None

    axes = {
        group: {
            name: axis((jax.tree_util.DictKey(group), jax.tree_util.DictKey(name)), leaf)
            for name, leaf in arrays.items()
        }
        for group, arrays in params.items()
    }
    return jax.pmap(predict, in_axes=(axes, 0))(params, inputs)
