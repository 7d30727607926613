"""Right, written another way: the spec worked out from the blocks, bytes from the indices, layout from the map."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def spec_for_picture(x, mesh, picture):
    """For each dimension: along which mesh axes does the start of the block change?"""
    starts = np.array(
        [[s.start or 0 for s in picture[d]] for d in mesh.devices.flat]
    )
    grid = starts.reshape(*mesh.devices.shape, x.ndim)
    spec = []
    for dim in range(x.ndim):
        along_x, along_y = grid[-1, 0, dim], grid[0, -1, dim]
        axes = [
            (step, name)
            for step, name in ((along_x, "x"), (along_y, "y"))
            if step > 0
        ]
        spec.append(
            tuple(name for _, name in sorted(axes, reverse=True)) or None
        )
    return jax.device_put(x, NamedSharding(mesh, P(*spec)))


def bytes_per_device(shape, dtype, mesh, spec):
    array = jax.ShapeDtypeStruct(
        shape, dtype, sharding=NamedSharding(mesh, spec)
    )
    block = next(iter(array.sharding.devices_indices_map(shape).values()))
    elements = math.prod(
        len(range(*s.indices(n))) for s, n in zip(block, shape, strict=True)
    )
    return elements * np.zeros((), array.dtype).itemsize


def pad_and_slice(x, mesh):
    rows = math.ceil(len(x) / mesh.size) * mesh.size
    whole = jnp.zeros((rows, x.shape[1]), x.dtype).at[: len(x)].set(x)
    padded = jax.device_put(whole, NamedSharding(mesh, P("x", None)))
    everywhere = jax.reshard(padded, NamedSharding(mesh, P()))
    return padded, jax.lax.slice_in_dim(everywhere, 0, len(x))


def read_layout(x, index):
    ids = []
    for device, block in x.sharding.devices_indices_map(x.shape).items():
        inside = np.zeros(x.shape, bool)
        inside[block] = True
        if inside[index]:
            ids.append(device.id)
    return sorted(ids)
