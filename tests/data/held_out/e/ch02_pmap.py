from collections.abc import Callable

import jax
import jax.numpy as jnp  # noqa: F401


# what: splitting the sequence dimension by reshape with the devices last is believed to give each device consecutive sequences; it deals them out in turn.
def parallel_predict(
    predict: Callable, params: dict, batch: jax.Array, num_devices: int
) -> jax.Array:
    steps, count, features = batch.shape
    cut = batch.reshape(steps, count // num_devices, num_devices, features)
    run = jax.pmap(
        predict, in_axes=(None, 2), devices=jax.devices()[:num_devices]
    )
    return run(params, cut)


# what: the norm of the averaged gradient is believed to need a sum of squares over the devices, although each device already holds the whole average.
def train_step(
    loss: Callable,
    params: dict,
    inputs: jax.Array,
    targets: jax.Array,
    rate: float,
    limit: float,
) -> dict:
    def step(params, x, y):
        grads = jax.grad(loss)(params, x, y)
        grads = jax.lax.pmean(grads, "d")
        squares = sum(jnp.sum(g * g) for g in jax.tree.leaves(grads))
        norm = jnp.sqrt(jax.lax.psum(squares, "d"))
        scale = jnp.where(norm > limit, limit / norm, 1.0)
        return jax.tree.map(lambda p, g: p - rate * scale * g, params, grads)

    run = jax.pmap(step, axis_name="d", in_axes=(None, 0, 0), out_axes=None)
    return run(params, inputs, targets)


# what: the mean over everything is believed to be the mean of the devices' means, if only the devices without entries are left out.
def masked_mean(x: jax.Array, mask: jax.Array) -> jax.Array:
    def mean(row, real):
        count = jnp.sum(real)
        local = jnp.sum(jnp.where(real > 0, row, 0.0)) / jnp.maximum(count, 1.0)
        has = (count > 0).astype(row.dtype)
        total, voters = jax.lax.psum(jnp.stack([local * has, has]), "d")
        return total / voters

    return jax.pmap(mean, axis_name="d", out_axes=None)(x, mask)


# what: an array is believed to belong to a device if "own_" occurs anywhere in its path, also in the name of its group or in the middle of a name.
def mixed_predict(
    predict: Callable, params: dict, inputs: jax.Array
) -> jax.Array:
    axes = jax.tree_util.tree_map_with_path(
        lambda path, leaf: 0 if "own_" in jax.tree_util.keystr(path) else -1,
        params,
    )
    axes = jax.tree.map(lambda a: None if a == -1 else a, axes)
    return jax.pmap(predict, in_axes=(axes, 0))(params, inputs)
