import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: forgets that a dimension can be cut over both axes the other way round, ("y", "x")
def spec_for_picture(x: jax.Array, mesh: Mesh, picture: dict[jax.Device, tuple[slice, ...]]) -> jax.Array:
    specs = [
        P(None, None),
        P("x", None),
        P("y", None),
        P(None, "x"),
        P(None, "y"),
        P("x", "y"),
        P("y", "x"),
        P(("x", "y"), None),
        P(None, ("x", "y")),
    ]

    def block(index):
        return tuple(s.indices(n)[:2] for s, n in zip(index, x.shape))

    wanted = {device: block(index) for device, index in picture.items()}
    sharding = NamedSharding(mesh, P(None, None))
    for spec in specs:
        entries = [(e,) if isinstance(e, str) else e or () for e in spec]
        counts = [int(np.prod([mesh.shape[a] for a in e], dtype=int)) for e in entries]
        if any(n % c for n, c in zip(x.shape, counts)):
            continue
        found = NamedSharding(mesh, spec)
        blocks = found.devices_indices_map(x.shape)
        if {d: block(index) for d, index in blocks.items()} == wanted:
            sharding = found
            break
    return jax.device_put(x, sharding)


# what: multiplies the shape with jnp, whose int32 overflows for a large shard
def bytes_per_device(shape: tuple[int, ...], dtype: str, mesh: Mesh, spec: P) -> int:
    shard = NamedSharding(mesh, spec).shard_shape(shape)
    elements = jnp.prod(jnp.array(shard, dtype=int))
    return int(elements * jnp.dtype(dtype).itemsize)


# what: pads by a whole block where the rows divide evenly already
def pad_and_slice(x: jax.Array, mesh: Mesh) -> tuple[jax.Array, jax.Array]:
    n, size = x.shape[0], mesh.shape["x"]
    missing = size - n % size
    padded = jnp.pad(x, ((0, missing), (0, 0)))
    padded = jax.device_put(padded, NamedSharding(mesh, P("x", None)))
    back = jax.jit(lambda y: y[:n], out_shardings=NamedSharding(mesh, P()))(padded)
    return padded, back


# what: counts only the first of several copies (replica_id 0)
def read_layout(x: jax.Array, index: tuple[int, ...]) -> list[int]:
    ids = []
    for shard in x.addressable_shards:
        if shard.replica_id != 0:
            continue
        ranges = [s.indices(n) for s, n in zip(shard.index, x.shape)]
        if all(start <= i < stop for i, (start, stop, _) in zip(index, ranges)):
            ids.append(shard.device.id)
    return sorted(ids)
