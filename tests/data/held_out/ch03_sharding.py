import jax
import jax.numpy as jnp
from jax.sharding import Mesh
from jax.sharding import NamedSharding
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


# what: pads by a whole block where the rows divide evenly already
def pad_and_slice(x: jax.Array, mesh: Mesh) -> tuple[jax.Array, jax.Array]:
    n, size = x.shape[0], mesh.shape["x"]
    missing = size - n % size
    padded = jnp.pad(x, ((0, missing), (0, 0)))
    padded = jax.device_put(padded, NamedSharding(mesh, P("x", None)))
    back = jax.jit(lambda y: y[:n], out_shardings=NamedSharding(mesh, P()))(padded)
    return padded, back
