"""Wrong answers of ch03_sharding that its mistakes.py does not know, written after the checks were finished."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def spec_for_picture__untouched(x, mesh, picture):
    return x


def spec_for_picture__rows_by_y(x, mesh, picture):
    return jax.device_put(x, NamedSharding(mesh, P("y", None)))


def spec_for_picture__numpy_pieces(x, mesh, picture):
    return np.asarray(x)


def spec_for_picture__slices_compared(x, mesh, picture):
    choices = [None, "x", "y", ("x", "y"), ("y", "x")]
    for rows in choices:
        for columns in choices:
            if set(rows or ()) & set(columns or ()):
                continue
            sharding = NamedSharding(mesh, P(rows, columns))
            if sharding.devices_indices_map(x.shape) == picture:
                return jax.device_put(x, sharding)
    return None


def bytes_per_device__bits(shape, dtype, mesh, spec):
    return (
        math.prod(NamedSharding(mesh, spec).shard_shape(shape))
        * jnp.dtype(dtype).itemsize
        * 8
    )


def bytes_per_device__all_shards(shape, dtype, mesh, spec):
    return (
        math.prod(NamedSharding(mesh, spec).shard_shape(shape))
        * jnp.dtype(dtype).itemsize
        * mesh.size
    )


def pad_and_slice__ones_for_zeros(x, mesh):
    n = x.shape[0]
    whole = jnp.pad(x, ((0, -n % mesh.size), (0, 0)), constant_values=1)
    padded = jax.device_put(whole, NamedSharding(mesh, P("x")))
    return padded, jax.device_put(padded, NamedSharding(mesh, P()))[:n]


def pad_and_slice__results_exchanged(x, mesh):
    n = x.shape[0]
    whole = jnp.pad(x, ((0, -n % mesh.size), (0, 0)))
    padded = jax.device_put(whole, NamedSharding(mesh, P("x")))
    return jax.device_put(padded, NamedSharding(mesh, P()))[:n], padded


def pad_and_slice__only_the_padded(x, mesh):
    whole = jnp.pad(x, ((0, -x.shape[0] % mesh.size), (0, 0)))
    return jax.device_put(whole, NamedSharding(mesh, P("x")))


def read_layout__descending(x, index):
    held = x.sharding.devices_indices_map(x.shape)
    return sorted(
        (
            d.id
            for d, b in held.items()
            if all(
                i in range(*s.indices(n))
                for s, i, n in zip(b, index, x.shape, strict=True)
            )
        ),
        reverse=True,
    )


def read_layout__devices_not_ids(x, index):
    held = x.sharding.devices_indices_map(x.shape)
    found = [
        d
        for d, b in held.items()
        if all(
            i in range(*s.indices(n))
            for s, i, n in zip(b, index, x.shape, strict=True)
        )
    ]
    return sorted(found, key=lambda d: d.id)
