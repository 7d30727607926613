import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: a dimension cut along both axes is always ("x", "y"); the other order is taken for the same thing
def spec_for_picture(x: jax.Array, mesh: Mesh, picture: dict[jax.Device, tuple[slice, ...]]) -> jax.Array:
    def starts(device):
        return [s.indices(n)[0] for s, n in zip(picture[device], x.shape)]

    grid = mesh.devices
    if mesh.axis_names != ("x", "y"):
        grid = grid.T
    corner = starts(grid[0, 0])
    moves = {
        "x": starts(grid[-1, 0]),
        "y": starts(grid[0, -1]),
    }
    entries = []
    for dimension in range(2):
        axes = tuple(name for name in ("x", "y") if moves[name][dimension] != corner[dimension])
        entries.append(axes if axes else None)
    return jax.device_put(x, NamedSharding(mesh, P(*entries)))


# what: an array that is cut at all is cut over every device of the mesh, whichever axes the spec names
def bytes_per_device(shape: tuple[int, ...], dtype: str, mesh: Mesh, spec: P) -> int:
    total = jnp.dtype(dtype).itemsize
    for size in shape:
        total *= size
    if any(entry is not None for entry in spec):
        return total // mesh.size
    return total


# what: shares the rows out as evenly as possible and lets each device pad its own block
def pad_and_slice(x: jax.Array, mesh: Mesh) -> tuple[jax.Array, jax.Array]:
    n, columns = x.shape
    devices = mesh.size
    height = -(-n // devices)
    blocks = [np.pad(block, ((0, height - len(block)), (0, 0))) for block in np.array_split(np.asarray(x), devices)]
    padded = jax.device_put(np.concatenate(blocks), NamedSharding(mesh, P("x", None)))
    back = jax.device_put(x, NamedSharding(mesh, P()))
    return padded, back


# what: takes a shard's position in the list of shards for the id of its device
def read_layout(x: jax.Array, index: tuple[int, ...]) -> list[int]:
    holders = []
    for position, shard in enumerate(x.addressable_shards):
        inside = True
        for i, cut, size in zip(index, shard.index, x.shape):
            start, stop, _ = cut.indices(size)
            inside = inside and start <= i < stop
        if inside:
            holders.append(position)
    return sorted(holders)
