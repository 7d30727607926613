from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax


# what: (1) reshape is believed to move the device dimension to the front by itself, so steps and sequences are mixed + (2) stacking the devices' results with jnp.stack after fetching them is believed to leave each on its device.
def parallel_predict(
    predict: Callable, params: dict, batch: jax.Array, num_devices: int
) -> jax.Array:
    steps, n, features = batch.shape
    parts = jnp.reshape(batch, (num_devices, steps, n // num_devices, features))
    stacked = jax.pmap(predict, in_axes=(None, 0))(params, parts)
    pieces = [jax.device_get(stacked[i]) for i in range(num_devices)]
    return jnp.stack(pieces, axis=0)


# what: (1) the mean is taken as the mean of the means of the devices that have entries + (2) real entries are told from padding by being non-zero after masking, so real zeros are not counted.
def masked_mean(x: jax.Array, mask: jax.Array) -> jax.Array:
    def local(row, real):
        kept = jnp.where(real == 1, row, jnp.zeros_like(row))
        count = jnp.count_nonzero(kept).astype(row.dtype)
        mean = kept.sum() / jnp.maximum(count, 1)
        total = lax.psum(mean, "rows")
        takers = lax.psum(jnp.minimum(count, 1), "rows")
        return total / jnp.maximum(takers, 1)

    return jax.pmap(local, axis_name="rows", out_axes=None)(x, mask)
