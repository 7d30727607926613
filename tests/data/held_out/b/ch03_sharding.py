import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def normal(block, shape):
    return tuple(cut.indices(n) for cut, n in zip(block, shape, strict=True))


# what: tries specs that do not divide the shape, which raises an error
def spec_for_picture(x, mesh, picture):
    both, other = ("x", "y"), ("y", "x")
    specs = [
        P(both),
        P(other),
        P(None, both),
        P(None, other),
        P("x", "y"),
        P("y", "x"),
        P("x"),
        P("y"),
        P(None, "x"),
        P(None, "y"),
        P(),
    ]
    wanted = {d: normal(block, x.shape) for d, block in picture.items()}
    for spec in specs:
        sharding = NamedSharding(mesh, spec)
        where = sharding.devices_indices_map(x.shape)
        if {d: normal(b, x.shape) for d, b in where.items()} == wanted:
            return jax.device_put(x, sharding)
    raise ValueError("no spec gives this picture")


# what: divides with /, so the answer is a float
def bytes_per_device(shape, dtype, mesh, spec):
    size = jnp.dtype(dtype).itemsize
    for n in shape:
        size *= n
    for axis in jax.tree.leaves(tuple(spec)):
        size /= mesh.shape[axis]
    return size


# what: takes the rows back through the host, onto the default device alone
def pad_and_slice(x, mesh):
    more = -len(x) % mesh.size
    padded = jnp.pad(x, ((0, more), (0, 0)))
    padded = jax.device_put(padded, NamedSharding(mesh, P("x")))
    return padded, jnp.asarray(jax.device_get(padded)[: len(x)])


# what: takes the place of a shard in the list for the id of its device
def read_layout(x, index):
    return [
        place
        for place, shard in enumerate(x.addressable_shards)
        if all(i in range(*cut.indices(n)) for i, cut, n in zip(index, shard.index, x.shape, strict=True))
    ]
