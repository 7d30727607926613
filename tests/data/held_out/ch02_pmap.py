import jax
import jax.numpy as jnp
from collections.abc import Callable


# what: jax.process_index() is taken for the number of the device inside pmap (like a rank in PyTorch), so in one process every device uses slice 0 of the "own_" arrays.
def mixed_predict(
    predict: Callable, params: dict, inputs: jax.Array
) -> jax.Array:
    def on_device(all_params, rows):
        rank = jax.process_index()
        mine = {
            layer: {
                name: (value[rank] if name.startswith("own_") else value)
                for name, value in entries.items()
            }
            for layer, entries in all_params.items()
        }
        return predict(mine, rows)

    return jax.pmap(on_device, in_axes=(None, 0))(params, inputs)


# what: (1) The mean over all devices is the mean of the devices' means + (2) padding is zero anyway, so the sum needs no mask.
def masked_mean(x: jax.Array, mask: jax.Array) -> jax.Array:
    def local(values, keep):
        real = jnp.maximum(jnp.sum(keep), 1)
        own_mean = jnp.sum(values) / real
        return jax.lax.pmean(own_mean, axis_name="devices")

    everywhere = jax.pmap(local, axis_name="devices", out_axes=None)
    return everywhere(x, mask)


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
