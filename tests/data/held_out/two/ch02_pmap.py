from collections.abc import Callable

import jax
import jax.numpy as jnp


# what: deals the rows out in turn + brings the stack to one device
def parallel_predict(predict, params, batch, num_devices):
    dealt = batch.reshape(-1, num_devices, batch.shape[1]).swapaxes(0, 1)
    stacked = jax.pmap(predict, in_axes=(None, 0))(params, dealt)
    return jax.device_put(stacked, jax.devices()[0])


# what: averages the loss, not its gradient + stacks the devices' copies
def train_step(loss, params, inputs, targets, rate):
    def step(params, inputs, targets):
        def mean_loss(params):
            return jax.lax.pmean(loss(params, inputs, targets), "batch")

        gradient = jax.grad(mean_loss)(params)
        return jax.tree.map(lambda p, g: p - rate * g, params, gradient)

    run = jax.pmap(step, "batch", in_axes=(None, 0, 0))
    return run(params, inputs, targets)


# what: mean of the non-empty devices' means, unweighted + one for each device
def masked_mean(x, mask):
    def mean(x, mask):
        count = mask.sum()
        local = (x * mask).sum() / jnp.maximum(count, 1)
        some = (count > 0).astype(x.dtype)
        total, devices = jax.lax.psum((local, some), "batch")
        return total / devices

    return jax.pmap(mean, "batch")(x, mask)


# what: one own array makes its whole layer own + merges the devices' rows
def mixed_predict(predict, params, inputs):
    axes = {
        layer: 0 if any(name.startswith("own_") for name in arrays) else None
        for layer, arrays in params.items()
    }
    out = jax.pmap(predict, in_axes=(axes, 0))(params, inputs)
    return out.reshape(-1, out.shape[-1])
