import math

import jax
import jax.numpy as jnp  # noqa: F401
from jax.sharding import Mesh, NamedSharding  # noqa: F401
from jax.sharding import PartitionSpec as P


def _plain(index, shape):
    return tuple(s.indices(n)[:2] for s, n in zip(index, shape))


# what: the order of two axes in one entry of a spec is believed not to matter, so only ("x", "y") is tried, never ("y", "x").
def spec_for_picture(
    x: jax.Array, mesh: Mesh, picture: dict[jax.Device, tuple[slice, ...]]
) -> jax.Array:
    both = ("x", "y")
    candidates = [
        P(None, None), P("x", None), P("y", None), P(None, "x"), P(None, "y"),
        P("x", "y"), P("y", "x"), P(both, None), P(None, both),
    ]
    want = {d: _plain(index, x.shape) for d, index in picture.items()}

    def hits(spec):
        sharding = NamedSharding(mesh, spec)
        try:
            have = sharding.devices_indices_map(x.shape)
        except ValueError:
            return -1
        return sum(_plain(have[d], x.shape) == w for d, w in want.items())

    best = max(candidates, key=hits)
    return jax.device_put(x, NamedSharding(mesh, best))


# what: an array that is cut at all is believed to be shared out over every device of the mesh, copies along unnamed axes being overlooked.
def bytes_per_device(
    shape: tuple[int, ...], dtype: str, mesh: Mesh, spec: P
) -> int:
    total = math.prod(shape) * jnp.dtype(dtype).itemsize
    if all(entry is None or entry == () for entry in spec):
        return total
    return total // mesh.size


# what: an ordinary array that is not sharded is believed to be available on every device, so the rows taken back lie on one device only.
def pad_and_slice(x: jax.Array, mesh: Mesh) -> tuple[jax.Array, jax.Array]:
    n = x.shape[0]
    missing = -n % mesh.size
    padded = jnp.pad(x, ((0, missing), (0, 0)))
    back = padded[:n]
    padded = jax.device_put(padded, NamedSharding(mesh, P("x", None)))
    return padded, back


# what: shard number i is believed to lie on the device with the id i.
def read_layout(x: jax.Array, index: tuple[int, ...]) -> list[int]:
    holders = []
    for number, shard in enumerate(x.addressable_shards):
        inside = True
        for i, s, n in zip(index, shard.index, x.shape):
            start, stop, _ = s.indices(n)
            inside = inside and start <= i < stop
        if inside:
            holders.append(number)
    return sorted(holders)
