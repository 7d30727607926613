from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax


# what: The sequences are dealt out like cards (sequence j to device j mod n) instead of in consecutive slices, because reshaping to (…, N/n, n) is thought to cut slices along its last dimension.
def parallel_predict(
    predict: Callable, params: dict, batch: jax.Array, num_devices: int
) -> jax.Array:
    steps, n, features = batch.shape
    dealt = batch.reshape(steps, n // num_devices, num_devices, features)
    run = jax.pmap(predict, in_axes=(None, 2), out_axes=0)
    return run(params, dealt)


# what: The norm of the averaged gradient is believed to be the average of the devices' own norms.
def train_step(
    loss: Callable,
    params: dict,
    inputs: jax.Array,
    targets: jax.Array,
    rate: float,
    limit: float,
) -> dict:
    def norm_of(tree):
        squares = [jnp.sum(jnp.square(leaf)) for leaf in jax.tree.leaves(tree)]
        return jnp.sqrt(sum(squares))

    def one_device(params, rows, wanted):
        grads = jax.grad(loss)(params, rows, wanted)
        norm = lax.pmean(norm_of(grads), "devices")
        grads = lax.pmean(grads, "devices")
        factor = jnp.where(norm > limit, limit / norm, 1.0)
        return jax.tree.map(lambda p, g: p - rate * factor * g, params, grads)

    step = jax.pmap(
        one_device, axis_name="devices", in_axes=(None, 0, 0), out_axes=None
    )
    return step(params, inputs, targets)


# what: The mean of all entries is taken to be the mean of the devices' means, leaving out only the devices that have no real entry.
def masked_mean(x: jax.Array, mask: jax.Array) -> jax.Array:
    def local(row, real):
        count = jnp.sum(real)
        mean = jnp.sum(jnp.where(real > 0, row, 0.0)) / jnp.maximum(count, 1.0)
        busy = (count > 0).astype(row.dtype)
        both = lax.psum(jnp.stack([mean, busy]), "d")
        return both[0] / both[1]

    return jax.pmap(local, axis_name="d", out_axes=None)(x, mask)


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
