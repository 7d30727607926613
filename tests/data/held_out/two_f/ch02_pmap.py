from collections.abc import Callable

import jax
import jax.numpy as jnp  # noqa: F401


# what: (1) The sequences are dealt out in turn (device i gets i, i + D, ...) instead of consecutive slices + (2) what pmap returns must be brought together on one device before it can be handed on.
def parallel_predict(
    predict: Callable, params: dict, batch: jax.Array, num_devices: int
) -> jax.Array:
    steps, count, width = batch.shape
    dealt = batch.reshape(steps, count // num_devices, num_devices, width)
    mapped = jax.pmap(
        predict,
        in_axes=(None, 2),
        out_axes=0,
        devices=jax.devices()[:num_devices],
    )
    spread_out = mapped(params, dealt)
    return jax.device_put(spread_out, jax.devices()[0])


# what: (1) The mean over all devices is the mean of the devices' means + (2) padding is zero anyway, so the sum needs no mask.
def masked_mean(x: jax.Array, mask: jax.Array) -> jax.Array:
    def local(values, keep):
        real = jnp.maximum(jnp.sum(keep), 1)
        own_mean = jnp.sum(values) / real
        return jax.lax.pmean(own_mean, axis_name="devices")

    everywhere = jax.pmap(local, axis_name="devices", out_axes=None)
    return everywhere(x, mask)
