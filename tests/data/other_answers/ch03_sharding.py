"""Other answers to the exercises of ch03_sharding: right ones, known mistakes, and other wrong ones."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def spec_for_picture__right(x, mesh, picture):
    """For each dimension: along which mesh axes does the start of the block change?"""
    starts = np.array([[s.start or 0 for s in picture[d]] for d in mesh.devices.flat])
    grid = starts.reshape(*mesh.devices.shape, x.ndim)
    spec = []
    for dim in range(x.ndim):
        along_x, along_y = grid[-1, 0, dim], grid[0, -1, dim]
        axes = [(step, name) for step, name in ((along_x, "x"), (along_y, "y")) if step > 0]
        spec.append(tuple(name for _, name in sorted(axes, reverse=True)) or None)
    return jax.device_put(x, NamedSharding(mesh, P(*spec)))


def spec_for_picture__untouched(x, mesh, picture):
    return x


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


def bytes_per_device__right(shape, dtype, mesh, spec):
    array = jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, spec))
    block = next(iter(array.sharding.devices_indices_map(shape).values()))
    elements = math.prod(len(range(*s.indices(n))) for s, n in zip(block, shape, strict=True))
    return elements * np.zeros((), array.dtype).itemsize


def bytes_per_device__bits(shape, dtype, mesh, spec):
    return math.prod(NamedSharding(mesh, spec).shard_shape(shape)) * jnp.dtype(dtype).itemsize * 8


def pad_and_slice__right(x, mesh):
    rows = math.ceil(len(x) / mesh.size) * mesh.size
    whole = jnp.zeros((rows, x.shape[1]), x.dtype).at[: len(x)].set(x)
    padded = jax.device_put(whole, NamedSharding(mesh, P("x", None)))
    everywhere = jax.reshard(padded, NamedSharding(mesh, P()))
    return padded, jax.lax.slice_in_dim(everywhere, 0, len(x))


def pad_and_slice__ones_for_zeros(x, mesh):
    n = x.shape[0]
    whole = jnp.pad(x, ((0, -n % mesh.size), (0, 0)), constant_values=1)
    padded = jax.device_put(whole, NamedSharding(mesh, P("x")))
    return padded, jax.device_put(padded, NamedSharding(mesh, P()))[:n]


def pad_and_slice__only_the_padded(x, mesh):
    whole = jnp.pad(x, ((0, -x.shape[0] % mesh.size), (0, 0)))
    return jax.device_put(whole, NamedSharding(mesh, P("x")))


def read_layout__right(x, index):
    ids = []
    for device, block in x.sharding.devices_indices_map(x.shape).items():
        inside = np.zeros(x.shape, bool)
        inside[block] = True
        if inside[index]:
            ids.append(device.id)
    return sorted(ids)


def read_layout__devices_not_ids(x, index):
    held = x.sharding.devices_indices_map(x.shape)
    found = [
        d for d, b in held.items() if all(i in range(*s.indices(n)) for s, i, n in zip(b, index, x.shape, strict=True))
    ]
    return sorted(found, key=lambda d: d.id)
