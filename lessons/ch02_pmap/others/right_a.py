"""Right, written with shard_map where the solution uses pmap."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def over(n):
    return Mesh(np.array(jax.devices()[:n]), ("d",))


def parallel_predict(predict, params, batch, num_devices):
    mesh = over(num_devices)

    @functools.partial(
        jax.shard_map, mesh=mesh, in_specs=(P(), P(None, "d")), out_specs=P("d")
    )
    def run(params, sequences):
        return predict(params, sequences)[None]

    return run(params, batch)


def train_step(loss, params, inputs, targets, rate, limit):
    mesh = over(len(inputs))
    rows = NamedSharding(mesh, P("d"))
    x, y = (
        jax.device_put(a.reshape(-1, a.shape[-1]), rows)
        for a in (inputs, targets)
    )
    everywhere = NamedSharding(mesh, P())

    @functools.partial(jax.jit, out_shardings=everywhere)
    def step(params, x, y):
        g = jax.grad(loss)(params, x, y)
        entries = jnp.concatenate([d.ravel() for d in jax.tree.leaves(g)])
        norm = jnp.linalg.norm(entries)
        scale = rate * limit / jnp.maximum(norm, limit)
        return jax.tree.map(lambda p, d: p - scale * d, params, g)

    return step(jax.device_put(params, everywhere), x, y)


def masked_mean(x, mask):
    @functools.partial(
        jax.shard_map, mesh=over(len(x)), in_specs=P("d"), out_specs=P()
    )
    def mean(x, m):
        return jax.lax.psum((x * m).sum(), "d") / jax.lax.psum(m.sum(), "d")

    return mean(x, mask)


def mixed_predict(predict, params, inputs):
    def axis(path, _):
        return 0 if path[-1].key.startswith("own_") else None

    axes = jax.tree_util.tree_map_with_path(axis, params)
    return jax.pmap(lambda x, p: predict(p, x), in_axes=(0, axes))(
        inputs, params
    )
