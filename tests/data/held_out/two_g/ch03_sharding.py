import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: (1) the order of the axes in a tuple entry is believed not to matter + (2) the devices of a mesh are believed to stand in it by ascending id, row by row, so the picture is read by id and not by place in the mesh.
def spec_for_picture(
    x: jax.Array, mesh: Mesh, picture: dict[jax.Device, tuple[slice, ...]]
) -> jax.Array:
    in_order = sorted(picture, key=lambda d: d.id)
    height, width = mesh.devices.shape
    origin = picture[in_order[0]]
    next_along = {
        "x": picture[in_order[(height - 1) * width]],
        "y": picture[in_order[width - 1]],
    }

    def start(block, dim):
        return block[dim].indices(x.shape[dim])[0]

    def entry(dim):
        names = [
            axis
            for axis, block in next_along.items()
            if start(block, dim) != start(origin, dim)
        ]
        return tuple(names) if names else None

    rows, columns = entry(0), entry(1)
    if rows and columns:
        columns = tuple(a for a in columns if a not in rows) or None
    return jax.device_put(x, NamedSharding(mesh, P(rows, columns)))


# what: (1) some padding is believed to be always needed, so a whole further round of rows is added when n already divides + (2) an array that is not cut is believed to be on every device by itself, so back is left on one device.
def pad_and_slice(x: jax.Array, mesh: Mesh) -> tuple[jax.Array, jax.Array]:
    n, columns = x.shape
    size = mesh.shape["x"]
    extra = size - n % size
    tail = jnp.zeros((extra, columns), x.dtype)
    long = np.concatenate([np.asarray(x), np.asarray(tail)], axis=0)
    padded = jax.device_put(long, NamedSharding(mesh, P("x")))
    back = jnp.asarray(jax.device_get(padded)[:n])
    return padded, back
