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


def _spread(x):
    return jax.device_put(x, NamedSharding(over(len(x)), P("d")))


def parallel_predict__one_device_then_spread(predict, params, batch, num_devices):
    return _spread(jnp.stack(jnp.split(predict(params, batch), num_devices, axis=1)))


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


def train_step__half_precision(loss, params, inputs, targets, rate, limit):
    def step(p, x, y):
        g = jax.tree.map(lambda g: g.astype(jnp.bfloat16), jax.grad(loss)(p, x, y))
        g = jax.tree.map(lambda g: g.astype(jnp.float32), lax.pmean(g, "i"))
        return jax.tree.map(lambda p, g: p - rate * g, p, _clipped(g, limit))

    return jax.pmap(step, "i", in_axes=(None, 0, 0), out_axes=None)(params, inputs, targets)


def train_step__on_one_device(loss, params, inputs, targets, rate, limit):
    def whole(params):
        each = [loss(params, x, y) for x, y in zip(inputs, targets, strict=True)]
        return sum(each) / len(each)

    g = _clipped(jax.grad(whole)(params), limit)
    new = jax.tree.map(lambda p, d: p - rate * d, params, g)
    return jax.device_put(new, NamedSharding(over(len(inputs)), P()))


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


def masked_mean__right_in_a_loop(x, mask):
    def mean(x, m):
        def add(i, both):
            return both[0] + x[i] * m[i], both[1] + m[i]

        total, count = jax.lax.psum(jax.lax.fori_loop(0, len(x), add, (x[0] * 0, m[0] * 0)), "i")
        return total / count

    return jax.pmap(mean, "i", out_axes=None)(x, mask)


def masked_mean__whole_then_averaged(x, mask):
    @functools.partial(jax.shard_map, mesh=over(len(x)), in_specs=P(), out_specs=P())
    def mean(x, m):
        return jax.lax.pmean((x * m).sum() / m.sum(), "d")

    return mean(x, mask)


def masked_mean__whole_and_nothing_sent(x, mask):
    @functools.partial(jax.shard_map, mesh=over(len(x)), in_specs=P(), out_specs=P())
    def mean(x, m):
        return (x * m).sum() / m.sum()

    return mean(x, mask)


def mixed_predict__one_after_the_other(predict, params, inputs):
    outs = []
    for i, rows in enumerate(inputs):
        own = {layer: {k: a[i] if k.startswith("own_") else a for k, a in d.items()} for layer, d in params.items()}
        outs.append(predict(own, rows))
    return _spread(jnp.stack(outs))
