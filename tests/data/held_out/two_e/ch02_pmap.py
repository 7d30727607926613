from collections.abc import Callable

import jax
import jax.numpy as jnp  # noqa: F401


# what: (1) reshaping to [devices, steps, ...] is believed to cut the sequences, but it cuts the flat memory, steps first + (2) an array read back and stacked is believed to remember on which devices its parts were.
def parallel_predict(
    predict: Callable, params: dict, batch: jax.Array, num_devices: int
) -> jax.Array:
    steps, count, features = batch.shape
    cut = batch.reshape(num_devices, steps, count // num_devices, features)
    run = jax.pmap(
        predict, in_axes=(None, 0), devices=jax.devices()[:num_devices]
    )
    results = jax.device_get(run(params, cut))
    return jnp.stack([jnp.asarray(r) for r in results])


# what: (1) the mean over everything is believed to be the mean of the devices' means + (2) real entries are believed to be those that are not zero after masking.
def masked_mean(x: jax.Array, mask: jax.Array) -> jax.Array:
    def mean(row, real):
        kept = jnp.where(real > 0, row, 0.0)
        count = jnp.count_nonzero(kept)
        local = jnp.sum(kept) / jnp.maximum(count, 1)
        return jax.lax.pmean(local, "d")

    return jax.pmap(mean, axis_name="d", out_axes=None)(x, mask)
