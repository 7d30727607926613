import math

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: The order of the axes inside a tuple entry is believed not to matter: when both axes cut one dimension, it is always written ("x", "y").
def spec_for_picture(
    x: jax.Array, mesh: Mesh, picture: dict[jax.Device, tuple[slice, ...]]
) -> jax.Array:
    grid = mesh.devices

    def block(device, dim):
        return picture[device][dim].indices(x.shape[dim])

    corner = grid[0, 0]
    ends = {"x": grid[-1, 0], "y": grid[0, -1]}
    entries = []
    for dim in range(2):
        axes = tuple(
            name
            for name in ("x", "y")
            if block(ends[name], dim) != block(corner, dim)
        )
        entries.append(axes[0] if len(axes) == 1 else (axes or None))
    return jax.device_put(x, NamedSharding(mesh, P(*entries)))


# what: JAX integers are believed to have 64 bits (or to grow like Python's), so the elements of a shard are counted with jnp.prod, which overflows i32.
def bytes_per_device(
    shape: tuple[int, ...], dtype: str, mesh: Mesh, spec: P
) -> int:
    local = list(shape)
    for dim, entry in enumerate(spec):
        names = entry if isinstance(entry, tuple) else (entry,)
        for name in names:
            if name is not None:
                local[dim] //= mesh.shape[name]
    elements = jnp.prod(jnp.array(local, dtype=jnp.int32))
    return int(elements) * jnp.dtype(dtype).itemsize


# what: The rows are padded to a multiple of all devices of the machine (jax.device_count()) instead of the mesh's.
def pad_and_slice(x: jax.Array, mesh: Mesh) -> tuple[jax.Array, jax.Array]:
    rows = x.shape[0]
    parts = jax.device_count()
    missing = -rows % parts
    padded = jnp.pad(x, ((0, missing), (0, 0)))
    padded = jax.device_put(padded, NamedSharding(mesh, P("x", None)))
    everywhere = jax.device_put(padded, NamedSharding(mesh, P()))
    back = jax.jit(
        lambda t: t[:rows], out_shardings=NamedSharding(mesh, P())
    )(everywhere)
    return padded, back


# what: The blocks of an array are believed to be handed out in the order of the device ids, the copies of a block to neighbouring ids.
def read_layout(x: jax.Array, index: tuple[int, ...]) -> list[int]:
    piece = x.sharding.shard_shape(x.shape)
    counts = [whole // part for whole, part in zip(x.shape, piece)]
    number = 0
    for i, part, count in zip(index, piece, counts):
        number = number * count + i // part
    ids = sorted(d.id for d in x.sharding.device_set)
    copies = len(ids) // math.prod(counts)
    return ids[number * copies : (number + 1) * copies]
