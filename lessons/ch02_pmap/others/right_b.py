"""Right, written another way again: copies made by hand, sums before division."""

import jax
import jax.numpy as jnp


def parallel_predict(predict, params, batch, num_devices):
    copies = jax.tree.map(
        lambda p: jnp.broadcast_to(p, (num_devices, *p.shape)), params
    )
    cut = jnp.stack(jnp.split(batch, num_devices))
    return jax.pmap(predict)(copies, cut)


def train_step(loss, params, inputs, targets, rate):
    n = inputs.shape[0]

    def step(x, y):
        g = jax.grad(lambda p: loss(p, x, y) / n)(params)
        return {k: params[k] - rate * jax.lax.psum(g[k], "i") for k in params}

    return jax.pmap(step, "i", out_axes=None)(inputs, targets)


def masked_mean(x, mask):
    def mean(x, m):
        weight = m.sum() / jax.lax.psum(m.sum(), "all")
        own = jnp.where(m == 1, x, 0).sum() / jnp.maximum(m.sum(), 1)
        return jax.lax.psum(own * weight, "all")

    return jax.pmap(mean, "all", out_axes=None)(x, mask)


def mixed_predict(predict, params, inputs):
    own = {
        k: {n: a for n, a in d.items() if n[:4] == "own_"}
        for k, d in params.items()
    }
    shared = {
        k: {n: a for n, a in d.items() if n[:4] != "own_"}
        for k, d in params.items()
    }

    def run(own, x):
        return predict({k: {**shared[k], **own[k]} for k in shared}, x)

    return jax.pmap(run)(own, inputs)
