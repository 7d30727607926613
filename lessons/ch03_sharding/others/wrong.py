"""Mistakes of ch03_sharding once more, spelled differently, where that may tell: the name must be the same."""

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def _put(x, mesh, *spec):
    return jax.device_put(x, NamedSharding(mesh, P(*spec)))


def _both(whole, mesh, n):
    padded = _put(whole, mesh, "x")
    return padded, jax.reshard(padded, NamedSharding(mesh, P()))[:n]


def _zeros(rows, x):
    return jnp.zeros((rows, x.shape[1]), x.dtype)


def pad_and_slice__not_padded(x, mesh):
    return _both(x, mesh, None)


def pad_and_slice__sliced_while_sharded(x, mesh):
    padded = _put(
        jnp.concatenate([x, _zeros(-len(x) % mesh.size, x)]), mesh, "x"
    )
    return padded, padded[0 : len(x)]


def pad_and_slice__sliced_then_placed(x, mesh):
    padded = _put(
        jnp.concatenate([x, _zeros(-len(x) % mesh.size, x)]), mesh, "x"
    )
    return padded, jax.reshard(padded[: len(x)], NamedSharding(mesh, P()))


def pad_and_slice__eight_assumed(x, mesh):
    n = len(x)
    rows = -(-n // jax.device_count()) * jax.device_count()
    return _both(jnp.concatenate([x, _zeros(rows - n, x)]), mesh, n)


def pad_and_slice__minus_nothing(x, mesh):
    more = -len(x) % mesh.size
    whole = jnp.concatenate([x, jnp.zeros((more, x.shape[1]), x.dtype)])
    back = jax.device_put(whole, NamedSharding(mesh, P()))
    return jax.device_put(whole, NamedSharding(mesh, P("x"))), back[:-more]


def read_layout__open_slices(x, index):
    ids = []
    for shard in x.addressable_shards:
        if all(
            s.start <= i and i < s.stop
            for s, i in zip(shard.index, index, strict=True)
        ):
            ids.append(shard.device.id)
    return sorted(ids)


def read_layout__open_range(x, index):
    found = []
    for device, block in x.sharding.devices_indices_map(x.shape).items():
        if all(
            range(s.start, s.stop).count(i)
            for s, i in zip(block, index, strict=True)
        ):
            found.append(device.id)
    return sorted(found)
