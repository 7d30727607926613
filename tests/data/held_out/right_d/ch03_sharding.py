import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: reads the axes, and their order, off the strides with which the blocks' starts grow on the mesh
def spec_for_picture(x: jax.Array, mesh: Mesh, picture: dict[jax.Device, tuple[slice, ...]]) -> jax.Array:
    strides = [{}, {}]
    for k, name in enumerate(mesh.axis_names):
        if mesh.devices.shape[k] == 1:
            continue
        here = picture[mesh.devices[0, 0]]
        there = picture[mesh.devices[(1, 0) if k == 0 else (0, 1)]]
        for dim in (0, 1):
            size = x.shape[dim]
            stride = there[dim].indices(size)[0] - here[dim].indices(size)[0]
            if stride:
                strides[dim][name] = stride
    spec = P(*(tuple(sorted(d, key=d.get, reverse=True)) or None for d in strides))
    return jax.make_array_from_callback(x.shape, NamedSharding(mesh, spec), lambda index: x[index])


# what: divides by the sizes of all axes that stand anywhere in the spec, flattened with itertools
def bytes_per_device(shape: tuple[int, ...], dtype: str, mesh: Mesh, spec: P) -> int:
    axes = itertools.chain.from_iterable((e,) if isinstance(e, str) else (e or ()) for e in spec)
    parts = int(np.prod([mesh.shape[a] for a in axes], dtype=object))
    elements = int(np.prod(shape, dtype=object))
    return elements // parts * jnp.dtype(dtype).itemsize


# what: builds both arrays from NumPy with callbacks, each device fetching the block it is asked for
def pad_and_slice(x: jax.Array, mesh: Mesh) -> tuple[jax.Array, jax.Array]:
    host = np.asarray(x)
    n, columns = host.shape
    full = np.zeros((n + -n % mesh.size, columns), host.dtype)
    full[:n] = host
    padded = jax.make_array_from_callback(full.shape, NamedSharding(mesh, P("x")), full.__getitem__)
    first = np.asarray(padded)[:n]
    back = jax.make_array_from_callback(first.shape, NamedSharding(mesh, P()), first.__getitem__)
    return padded, back


# what: a one-liner: an index lies in a shard if it is in the range that the slice cuts out
def read_layout(x: jax.Array, index: tuple[int, ...]) -> list[int]:
    return sorted(
        device.id
        for device, cuts in x.sharding.devices_indices_map(x.shape).items()
        if all(i in range(n)[cut] for i, n, cut in zip(index, x.shape, cuts))
    )
