import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import numpy as np


# what: finds the axes by the number of blocks alone + on a mesh of its own
def spec_for_picture(x, mesh, picture):
    block = next(iter(picture.values()))
    counts = [n // len(range(*cut.indices(n))) for cut, n in zip(block, x.shape, strict=True)]
    axes = {
        mesh.size: ("x", "y"),
        mesh.shape["x"]: "x",
        mesh.shape["y"]: "y",
        1: None,
    }
    devices = np.array(jax.devices()[: mesh.size])
    own = Mesh(devices.reshape(mesh.devices.shape), mesh.axis_names)
    spec = P(*(axes[count] for count in counts))
    return jax.device_put(x, NamedSharding(own, spec))


# what: forgets dimensions that spec leaves out + of a tuple only axis one cuts
def bytes_per_device(shape, dtype, mesh, spec):
    size = jnp.dtype(dtype).itemsize
    for n, entry in zip(shape, tuple(spec)):
        if entry is None:
            size *= n
        else:
            axis = entry if isinstance(entry, str) else entry[0]
            size *= n // mesh.shape[axis]
    return size


# what: pads a full group where n divides already + repeats the last row
def pad_and_slice(x, mesh):
    more = (len(x) // mesh.size + 1) * mesh.size - len(x)
    padded = jnp.pad(x, ((0, more), (0, 0)), mode="edge")
    padded = jax.device_put(padded, NamedSharding(mesh, P("x")))
    whole = jax.device_put(padded, NamedSharding(mesh, P()))
    return padded, whole[: len(x)]


# what: counts the stop of a slice as inside + leaves the ids as they come
def read_layout(x, index):
    holders = []
    for shard in x.addressable_shards:
        inside = True
        for i, cut, n in zip(index, shard.index, x.shape, strict=True):
            start, stop, _ = cut.indices(n)
            inside = inside and start <= i <= stop
        if inside:
            holders.append(shard.device.id)
    return holders
