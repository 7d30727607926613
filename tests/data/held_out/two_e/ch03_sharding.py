import jax
import jax.numpy as jnp  # noqa: F401
import numpy as np
from jax.sharding import Mesh, NamedSharding  # noqa: F401
from jax.sharding import PartitionSpec as P


# what: (1) the number of blocks along a dimension is believed to tell which axis cuts it, whoever holds them + (2) the order of two axes in one entry is believed not to matter.
def spec_for_picture(
    x: jax.Array, mesh: Mesh, picture: dict[jax.Device, tuple[slice, ...]]
) -> jax.Array:
    entries = []
    free = dict(mesh.shape)
    for dim, length in enumerate(x.shape):
        blocks = {index[dim].indices(length)[:2] for index in picture.values()}
        entry = None
        if len(blocks) > 1:
            for axis, size in free.items():
                if size == len(blocks):
                    entry = axis
                    break
            if entry is None:
                entry = tuple(free)
        for axis in (entry,) if isinstance(entry, str) else entry or ():
            free.pop(axis, None)
        entries.append(entry)
    return jax.device_put(x, NamedSharding(mesh, P(*entries)))


# what: (1) the rows are believed to be dealt out as evenly as possible, each device's share being padded at its own end + (2) an ordinary array on one device is believed to be there for all devices.
def pad_and_slice(x: jax.Array, mesh: Mesh) -> tuple[jax.Array, jax.Array]:
    rows = np.asarray(x)
    shares = np.array_split(rows, mesh.size)
    height = max(len(share) for share in shares)
    padded = np.concatenate(
        [np.pad(share, ((0, height - len(share)), (0, 0))) for share in shares]
    )
    padded = jax.device_put(padded, NamedSharding(mesh, P("x", None)))
    back = np.concatenate(
        [
            np.asarray(padded)[i * height : i * height + len(share)]
            for i, share in enumerate(shares)
        ]
    )
    return padded, jnp.asarray(back)
