import jax
import jax.numpy as jnp  # noqa: F401
from jax.sharding import Mesh, NamedSharding  # noqa: F401
from jax.sharding import PartitionSpec as P

_XY = ("x", "y")
_YX = ("y", "x")


def _plain(block, shape):
    return tuple(s.indices(n)[:2] for s, n in zip(block, shape))


# what: A spec fits as soon as it makes the same blocks as the picture; which device has which block then comes out by itself.
def spec_for_picture(
    x: jax.Array, mesh: Mesh, picture: dict[jax.Device, tuple[slice, ...]]
) -> jax.Array:
    wanted = sorted(_plain(b, x.shape) for b in picture.values())
    choices = [P()]
    for a in ("x", "y", _XY, _YX):
        choices += [P(a, None), P(None, a)]
    choices += [P("x", "y"), P("y", "x")]
    layout = NamedSharding(mesh, P())
    for spec in choices:
        trial = NamedSharding(mesh, spec)
        try:
            made = trial.devices_indices_map(x.shape)
        except ValueError:
            continue  # does not divide evenly
        if sorted(_plain(b, x.shape) for b in made.values()) == wanted:
            layout = trial
            break
    return jax.device_put(x, layout)


# what: The bytes are shared out over all devices of the mesh, also along axes that the spec does not name.
def bytes_per_device(
    shape: tuple[int, ...], dtype: str, mesh: Mesh, spec: P
) -> int:
    elements = 1
    for side in shape:
        elements *= int(side)
    parts = 1
    if any(entry is not None for entry in spec):
        for size in mesh.shape.values():
            parts *= size
    return elements * jnp.dtype(dtype).itemsize // parts


# what: Rows must divide by the number of all devices of the machine, not of the mesh.
def pad_and_slice(x: jax.Array, mesh: Mesh) -> tuple[jax.Array, jax.Array]:
    n = x.shape[0]
    devices = len(jax.devices())
    missing = -n % devices
    longer = jnp.pad(x, ((0, missing), (0, 0)))
    padded = jax.device_put(longer, NamedSharding(mesh, P("x", None)))
    back = jax.device_put(longer[:n], NamedSharding(mesh, P(None, None)))
    return padded, back


# what: The blocks of a sharding are listed in ascending order of the device ids.
def read_layout(x: jax.Array, index: tuple[int, ...]) -> list[int]:
    blocks = x.sharding.devices_indices_map(x.shape).values()
    ids = sorted(dev.id for dev in x.sharding.device_set)

    def inside(block):
        for position, cut, size in zip(index, block, x.shape):
            start, stop, _ = cut.indices(size)
            if not start <= position < stop:
                return False
        return True

    return [number for number, block in zip(ids, blocks) if inside(block)]
