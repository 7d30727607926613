import math

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import numpy as np
from jax import lax


# what: reads the spec off the blocks' starts: the longer step cuts first
def spec_for_picture(x, mesh, picture):
    entries = []
    for dim, n in enumerate(x.shape):
        first = [picture[d][dim].indices(n)[0] for d in mesh.devices.flat]
        first = np.array(first).reshape(mesh.devices.shape)
        steps = {}
        for place, axis in enumerate(mesh.axis_names):
            line = np.moveaxis(first, place, 0)
            if len(line) > 1 and (line[1] != line[0]).any():
                steps[axis] = (line[1] - line[0]).max()
        order = sorted(steps, key=lambda axis: -steps[axis])
        entries.append(tuple(order) or None)
    return jax.device_put(x, NamedSharding(mesh, P(*entries)))


# what: divides the bytes of the whole by the sizes of the named axes
def bytes_per_device(shape, dtype, mesh, spec):
    named = jax.tree.leaves(tuple(spec))
    parts = math.prod(mesh.shape[axis] for axis in named)
    return math.prod(shape) * jnp.dtype(dtype).itemsize // parts


# what: lax.pad, and a slice of copies that device_put has made
def pad_and_slice(x, mesh):
    n = x.shape[0]
    more = -n % mesh.size
    zero = jnp.zeros((), x.dtype)
    padded = lax.pad(x, zero, [(0, more, 0), (0, 0, 0)])
    padded = jax.device_put(padded, NamedSharding(mesh, P("x")))
    copies = jax.device_put(padded, NamedSharding(mesh, P()))
    return padded, lax.slice_in_dim(copies, 0, n)


# what: asks the sharding for its map of indices, not the shards
def read_layout(x, index):
    holders = []
    for device, block in x.sharding.devices_indices_map(x.shape).items():
        cuts = zip(index, block, x.shape, strict=True)
        if all(i in range(*cut.indices(n)) for i, cut, n in cuts):
            holders.append(device.id)
    return sorted(holders)
