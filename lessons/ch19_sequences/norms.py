"""Four layers of a tensor-parallel MLP: an all-reduce each, or its halves."""

import jax
import jax.numpy as jnp
from jax import P, lax


def norm(x):
    return x * lax.rsqrt((x * x).mean(axis=-1, keepdims=True) + 1e-6)


def summed(x, up, down):
    """x: f32[b, T, d], on all devices; up, down: cut along hidden units."""
    for u, d in zip(up, down, strict=True):
        x = x + lax.psum(jnp.tanh(norm(x) @ u) @ d, "m")
    return x


def scattered(x, up, down):
    """x: f32[b, T/n, d], the device's own positions."""
    along = {"axis_name": "m", "tiled": True}
    for u, d in zip(up, down, strict=True):
        whole = lax.all_gather(norm(x), axis=1, **along)
        part = jnp.tanh(whole @ u) @ d
        x = x + lax.psum_scatter(part, scatter_dimension=1, **along)
    return x


WAYS = {"all-reduce": (summed, P()), "halves": (scattered, P(None, "m"))}
WEIGHTS = P(None, None, "m"), P(None, "m")  # of up and down


def placed(name, mesh, arrays):
    """(function, its arguments): a way on a mesh "m". arrays: x, up and down,
    whole, or only their shapes."""
    f, spec = WAYS[name]
    specs = spec, *WEIGHTS
    f = jax.shard_map(f, mesh=mesh, in_specs=specs, out_specs=spec)
    places = [jax.NamedSharding(mesh, s) for s in specs]
    if isinstance(arrays[0], jax.Array):
        return f, jax.device_put(list(arrays), places)
    return f, [
        jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=s)
        for a, s in zip(arrays, places, strict=True)
    ]


def gradients(f):
    """Of the sum of the squares of what f returns, by all its arguments."""

    def total(*args):
        return (f(*args).astype(jnp.float32) ** 2).sum()

    return jax.grad(total, (0, 1, 2))
