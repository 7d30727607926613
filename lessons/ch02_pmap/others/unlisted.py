"""Wrong answers of ch02_pmap that its mistakes.py does not know, written after the checks were finished."""

import jax
import jax.numpy as jnp
from jax import lax


def _cut(batch, n):
    return batch.reshape(n, batch.shape[0] // n, *batch.shape[1:])


def parallel_predict__devices_backwards(predict, params, batch, num_devices):
    return jax.pmap(predict, in_axes=(None, 0))(
        params, _cut(batch, num_devices)[::-1]
    )


def parallel_predict__joined_again(predict, params, batch, num_devices):
    out = jax.pmap(predict, in_axes=(None, 0))(params, _cut(batch, num_devices))
    return out.reshape(batch.shape[0], -1)


def parallel_predict__sigmoid_on_top(predict, params, batch, num_devices):
    return jax.nn.sigmoid(
        jax.pmap(predict, in_axes=(None, 0))(params, _cut(batch, num_devices))
    )


def train_step__step_twice_as_long(loss, params, inputs, targets, rate):
    def step(p, x, y):
        g = lax.pmean(jax.grad(loss)(p, x, y), "i")
        return jax.tree.map(lambda p, g: p - 2 * rate * g, p, g)

    return jax.pmap(step, "i", in_axes=(None, 0, 0), out_axes=None)(
        params, inputs, targets
    )


def train_step__gradient_returned(loss, params, inputs, targets, rate):
    def step(p, x, y):
        return lax.pmean(jax.grad(loss)(p, x, y), "i")

    return jax.pmap(step, "i", in_axes=(None, 0, 0), out_axes=None)(
        params, inputs, targets
    )


def train_step__half_precision(loss, params, inputs, targets, rate):
    def step(p, x, y):
        g = jax.tree.map(
            lambda g: g.astype(jnp.bfloat16), jax.grad(loss)(p, x, y)
        )
        g = lax.pmean(g, "i")
        return jax.tree.map(lambda p, g: p - rate * g.astype(jnp.float32), p, g)

    return jax.pmap(step, "i", in_axes=(None, 0, 0), out_axes=None)(
        params, inputs, targets
    )


def masked_mean__sum_not_divided(x, mask):
    return jax.pmap(
        lambda x, m: lax.psum((x * m).sum(), "i"), "i", out_axes=None
    )(x, mask)


def masked_mean__mask_inverted(x, mask):
    def mean(x, m):
        total, count = lax.psum(jnp.stack([(x * (1 - m)).sum(), m.sum()]), "i")
        return total / count

    return jax.pmap(mean, "i", out_axes=None)(x, mask)


def mixed_predict__out_along_the_rows(predict, params, inputs):
    axes = {
        k: {n: 0 if n.startswith("own_") else None for n in v}
        for k, v in params.items()
    }
    return jax.pmap(predict, in_axes=(axes, 0), out_axes=1)(params, inputs)


def mixed_predict__first_inputs_for_all(predict, params, inputs):
    axes = {
        k: {n: 0 if n.startswith("own_") else None for n in v}
        for k, v in params.items()
    }
    same = jnp.broadcast_to(inputs[:1], inputs.shape)
    return jax.pmap(predict, in_axes=(axes, 0))(params, same)
