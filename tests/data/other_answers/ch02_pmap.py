"""Other answers to the exercises of ch02_pmap: right ones, known mistakes, and other wrong ones."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def over(n):
    return Mesh(np.array(jax.devices()[:n]), ("d",))


def parallel_predict__right(predict, params, batch, num_devices):
    mesh = over(num_devices)

    @functools.partial(jax.shard_map, mesh=mesh, in_specs=(P(), P(None, "d")), out_specs=P("d"))
    def run(params, sequences):
        return predict(params, sequences)[None]

    return run(params, batch)


def parallel_predict__right_otherwise(predict, params, batch, num_devices):
    copies = jax.tree.map(lambda p: jnp.broadcast_to(p, (num_devices, *p.shape)), params)
    cut = jnp.stack(jnp.split(batch, num_devices, axis=1))
    return jax.pmap(predict)(copies, cut)


def parallel_predict__all_devices(predict, params, batch, num_devices):
    cut = jnp.stack(jnp.split(batch, len(jax.devices()), axis=1))
    return jax.pmap(functools.partial(predict, params))(cut)


def _cut(batch, n):
    return jnp.stack(jnp.split(batch, n, axis=1))


def parallel_predict__joined_again(predict, params, batch, num_devices):
    out = jax.pmap(predict, in_axes=(None, 0))(params, _cut(batch, num_devices))
    return jnp.concatenate(list(out), axis=1)


def parallel_predict__time_backwards(predict, params, batch, num_devices):
    run = jax.pmap(predict, in_axes=(None, 0))
    return run(params, _cut(batch[::-1], num_devices))[:, ::-1]


def _spread(x, n):
    mesh = jax.make_mesh((n,), ("d",), devices=jax.devices()[:n])
    spec = jax.sharding.PartitionSpec("d")
    return jax.device_put(x, jax.sharding.NamedSharding(mesh, spec))


def parallel_predict__one_device_then_spread(predict, params, batch, num_devices):
    return _spread(_cut(predict(params, batch), num_devices), num_devices)


def parallel_predict__all_on_each(predict, params, batch, num_devices):
    each = batch.shape[1] // num_devices

    def own(i, params, batch):
        out = predict(params, batch)
        return lax.dynamic_slice_in_dim(out, i * each, each, axis=1)

    f = jax.pmap(own, "batch", in_axes=(0, None, None))
    return f(jnp.arange(num_devices), params, batch)


def train_step__right(loss, params, inputs, targets, rate, limit):
    mesh = over(len(inputs))
    rows = NamedSharding(mesh, P("d"))
    x, y = (jax.device_put(a.reshape(-1, a.shape[-1]), rows) for a in (inputs, targets))
    everywhere = NamedSharding(mesh, P())

    @functools.partial(jax.jit, out_shardings=everywhere)
    def step(params, x, y):
        g = jax.grad(loss)(params, x, y)
        entries = jnp.concatenate([d.ravel() for d in jax.tree.leaves(g)])
        norm = jnp.linalg.norm(entries)
        scale = rate * limit / jnp.maximum(norm, limit)
        return jax.tree.map(lambda p, d: p - scale * d, params, g)

    return step(jax.device_put(params, everywhere), x, y)


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
        g = jax.tree.map(lambda g: g.astype(jnp.bfloat16), jax.grad(loss)(p, x, y))
        g = jax.tree.map(lambda g: g.astype(jnp.float32), lax.pmean(g, "i"))
        return jax.tree.map(lambda p, g: p - rate * g, p, _clipped(g, limit))

    return _run(step, params, inputs, targets)


def train_step__left_out_when_larger(loss, params, inputs, targets, rate, limit):
    def step(p, x, y):
        g = lax.pmean(jax.grad(loss)(p, x, y), "i")
        norm = jnp.sqrt(sum((d**2).sum() for d in g.values()))
        return jax.tree.map(lambda p, g: p - rate * g * (norm <= limit), p, g)

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


def train_step__on_one_device(loss, params, inputs, targets, rate, limit):
    def whole(params):
        each = [loss(params, x, y) for x, y in zip(inputs, targets, strict=True)]
        return sum(each) / len(each)

    g = _clipped(jax.grad(whole)(params), limit)
    mesh = jax.make_mesh((len(inputs),), ("d",), devices=jax.devices()[: len(inputs)])
    everywhere = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    new = jax.tree.map(lambda p, d: p - rate * d, params, g)
    return jax.device_put(new, everywhere)


def masked_mean__right(x, mask):
    @functools.partial(jax.shard_map, mesh=over(len(x)), in_specs=P("d"), out_specs=P())
    def mean(x, m):
        return jax.lax.psum((x * m).sum(), "d") / jax.lax.psum(m.sum(), "d")

    return mean(x, mask)


def masked_mean__right_otherwise(x, mask):
    def mean(x, m):
        weight = m.sum() / jax.lax.psum(m.sum(), "all")
        own = jnp.where(m == 1, x, 0).sum() / jnp.maximum(m.sum(), 1)
        return jax.lax.psum(own * weight, "all")

    return jax.pmap(mean, "all", out_axes=None)(x, mask)


def masked_mean__gathers(x, mask):
    def mean(x, m):
        everything = jax.lax.all_gather(jnp.stack([x, m]), "i", axis=1)
        return (everything[0] * everything[1]).sum() / everything[1].sum()

    return jax.pmap(mean, "i", out_axes=None)(x, mask)


def masked_mean__all_on_each(x, mask):
    mesh = jax.make_mesh((x.shape[0],), ("copies",))
    mean = jax.jit(
        lambda x, mask: jnp.vdot(x, mask) / mask.sum(),
        out_shardings=jax.NamedSharding(mesh, jax.P()),
    )
    return mean(x, mask)


def masked_mean__mask_inverted(x, mask):
    def mean(x, m):
        total, count = lax.psum(jnp.stack([(x * (1 - m)).sum(), m.sum()]), "i")
        return total / count

    return jax.pmap(mean, "i", out_axes=None)(x, mask)


def mixed_predict__right(predict, params, inputs):
    def axis(path, _):
        return 0 if path[-1].key.startswith("own_") else None

    axes = jax.tree_util.tree_map_with_path(axis, params)
    return jax.pmap(lambda x, p: predict(p, x), in_axes=(0, axes))(inputs, params)


def mixed_predict__one_after_the_other(predict, params, inputs):
    outs = []
    for i, rows in enumerate(inputs):
        own = {layer: {k: a[i] if k.startswith("own_") else a for k, a in d.items()} for layer, d in params.items()}
        outs.append(predict(own, rows))
    return _spread(jnp.stack(outs), len(inputs))
