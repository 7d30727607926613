from collections.abc import Callable

import jax
import jax.numpy as jnp  # noqa: F401


# what: A reshape that puts the device dimension in front cuts the sequences, as if it moved dimensions.
def parallel_predict(
    predict: Callable, params: dict, batch: jax.Array, num_devices: int
) -> jax.Array:
    steps, total, features = batch.shape
    share = total // num_devices
    pieces = batch.reshape(num_devices, steps, share, features)
    chosen = jax.devices()[:num_devices]
    run = jax.pmap(predict, in_axes=(None, 0), devices=chosen)
    return run(params, pieces)


# what: After the gradient has been averaged, each device still knows only its share of the squares, so they are added up over the devices for the norm.
def train_step(
    loss: Callable,
    params: dict,
    inputs: jax.Array,
    targets: jax.Array,
    rate: float,
    limit: float,
) -> dict:
    def one_device(p, x, y):
        own = jax.grad(loss)(p, x, y)
        g = jax.lax.pmean(own, axis_name="dev")
        squares = [jnp.vdot(leaf, leaf) for leaf in jax.tree.leaves(g)]
        norm = jnp.sqrt(jax.lax.psum(sum(squares), axis_name="dev"))
        shrink = jnp.where(norm > limit, limit / norm, 1.0)
        return jax.tree.map(lambda w, d: w - rate * shrink * d, p, g)

    step = jax.pmap(
        one_device, axis_name="dev", in_axes=(None, 0, 0), out_axes=None
    )
    return step(params, inputs, targets)


# what: A device without real entries must count as one entry, so that no device divides by zero, though the division only comes after the sum.
def masked_mean(x: jax.Array, mask: jax.Array) -> jax.Array:
    def body(values, keep):
        part = jnp.where(keep > 0, values, 0.0).sum()
        count = jnp.maximum(keep.sum(), 1.0)
        total = jax.lax.psum(jnp.stack([part, count]), "d")
        return total[0] / total[1]

    return jax.pmap(body, axis_name="d", out_axes=None)(x, mask)


# what: Within pmap `jax.process_index()` is the number of the device one runs on, so it picks the device's own slice.
def mixed_predict(
    predict: Callable, params: dict, inputs: jax.Array
) -> jax.Array:
    def pick(group):
        here = jax.process_index()
        return {
            name: array[here] if name.startswith("own_") else array
            for name, array in group.items()
        }

    def on_device(all_params, rows):
        mine = {key: pick(group) for key, group in all_params.items()}
        return predict(mine, rows)

    return jax.pmap(on_device, in_axes=(None, 0))(params, inputs)
