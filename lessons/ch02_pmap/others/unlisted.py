"""Wrong answers of ch02_pmap that its mistakes.py does not know, written after the checks were finished."""

import jax
import jax.numpy as jnp
from jax import lax


def _cut(batch, n):
    return jnp.stack(jnp.split(batch, n, axis=1))


def parallel_predict__devices_backwards(predict, params, batch, num_devices):
    return jax.pmap(predict, in_axes=(None, 0))(
        params, _cut(batch, num_devices)[::-1]
    )


def parallel_predict__joined_again(predict, params, batch, num_devices):
    out = jax.pmap(predict, in_axes=(None, 0))(params, _cut(batch, num_devices))
    return jnp.concatenate(list(out), axis=1)


def parallel_predict__sigmoid_on_top(predict, params, batch, num_devices):
    return jax.nn.sigmoid(
        jax.pmap(predict, in_axes=(None, 0))(params, _cut(batch, num_devices))
    )


def parallel_predict__time_backwards(predict, params, batch, num_devices):
    run = jax.pmap(predict, in_axes=(None, 0))
    return run(params, _cut(batch[::-1], num_devices))[:, ::-1]


def parallel_predict__last_step_only(predict, params, batch, num_devices):
    run = jax.pmap(predict, in_axes=(None, 0))
    return run(params, _cut(batch, num_devices))[:, -1:]


def _clipped(g, limit):
    norm = jnp.sqrt(sum((d**2).sum() for d in g.values()))
    return {k: d * jnp.minimum(1, limit / norm) for k, d in g.items()}


def _run(step, params, inputs, targets):
    run = jax.pmap(step, "i", in_axes=(None, 0, 0), out_axes=None)
    return run(params, inputs, targets)


def train_step__step_twice_as_long(loss, params, inputs, targets, rate, limit):
    def step(p, x, y):
        g = _clipped(lax.pmean(jax.grad(loss)(p, x, y), "i"), limit)
        return jax.tree.map(lambda p, g: p - 2 * rate * g, p, g)

    return _run(step, params, inputs, targets)


def train_step__gradient_returned(loss, params, inputs, targets, rate, limit):
    def step(p, x, y):
        return _clipped(lax.pmean(jax.grad(loss)(p, x, y), "i"), limit)

    return _run(step, params, inputs, targets)


def train_step__half_precision(loss, params, inputs, targets, rate, limit):
    def step(p, x, y):
        g = jax.tree.map(
            lambda g: g.astype(jnp.bfloat16), jax.grad(loss)(p, x, y)
        )
        g = jax.tree.map(lambda g: g.astype(jnp.float32), lax.pmean(g, "i"))
        return jax.tree.map(lambda p, g: p - rate * g, p, _clipped(g, limit))

    return _run(step, params, inputs, targets)


def train_step__parameters_clipped(loss, params, inputs, targets, rate, limit):
    def step(p, x, y):
        g = lax.pmean(jax.grad(loss)(p, x, y), "i")
        return _clipped(jax.tree.map(lambda p, g: p - rate * g, p, g), limit)

    return _run(step, params, inputs, targets)


def train_step__left_out_when_larger(
    loss, params, inputs, targets, rate, limit
):
    def step(p, x, y):
        g = lax.pmean(jax.grad(loss)(p, x, y), "i")
        norm = jnp.sqrt(sum((d**2).sum() for d in g.values()))
        return jax.tree.map(lambda p, g: p - rate * g * (norm <= limit), p, g)

    return _run(step, params, inputs, targets)


def train_step__largest_entry(loss, params, inputs, targets, rate, limit):
    def step(p, x, y):
        g = lax.pmean(jax.grad(loss)(p, x, y), "i")
        most = jnp.max(jnp.array([jnp.abs(d).max() for d in g.values()]))
        scale = rate * jnp.minimum(1, limit / most)
        return jax.tree.map(lambda p, g: p - scale * g, p, g)

    return _run(step, params, inputs, targets)


def train_step__squares_averaged(loss, params, inputs, targets, rate, limit):
    def step(p, x, y):
        own = jax.grad(loss)(p, x, y)
        squares = sum((d**2).sum() for d in own.values())
        norm = jnp.sqrt(lax.pmean(squares, "i"))
        scale = rate * jnp.minimum(1, limit / norm)
        g = lax.pmean(own, "i")
        return jax.tree.map(lambda p, g: p - scale * g, p, g)

    return _run(step, params, inputs, targets)


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


def _spread(x, n):
    mesh = jax.make_mesh((n,), ("d",), devices=jax.devices()[:n])
    spec = jax.sharding.PartitionSpec("d")
    return jax.device_put(x, jax.sharding.NamedSharding(mesh, spec))


def parallel_predict__one_device_then_spread(
    predict, params, batch, num_devices
):
    return _spread(_cut(predict(params, batch), num_devices), num_devices)


def parallel_predict__all_on_each(predict, params, batch, num_devices):
    each = batch.shape[1] // num_devices

    def own(i, params, batch):
        out = predict(params, batch)
        return lax.dynamic_slice_in_dim(out, i * each, each, axis=1)

    f = jax.pmap(own, "batch", in_axes=(0, None, None))
    return f(jnp.arange(num_devices), params, batch)


def train_step__on_one_device(loss, params, inputs, targets, rate, limit):
    def whole(params):
        each = [
            loss(params, x, y) for x, y in zip(inputs, targets, strict=True)
        ]
        return sum(each) / len(each)

    g = _clipped(jax.grad(whole)(params), limit)
    mesh = jax.make_mesh(
        (len(inputs),), ("d",), devices=jax.devices()[: len(inputs)]
    )
    everywhere = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    new = jax.tree.map(lambda p, d: p - rate * d, params, g)
    return jax.device_put(new, everywhere)


def mixed_predict__one_after_the_other(predict, params, inputs):
    outs = []
    for i, rows in enumerate(inputs):
        own = {
            layer: {
                k: a[i] if k.startswith("own_") else a for k, a in d.items()
            }
            for layer, d in params.items()
        }
        outs.append(predict(own, rows))
    return _spread(jnp.stack(outs), len(inputs))
