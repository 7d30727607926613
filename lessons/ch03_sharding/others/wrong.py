"""Every known mistake of ch03_sharding once more, spelled differently: it must be given the same name."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

CHOICES = [(), ("x",), ("y",), ("x", "y"), ("y", "x")]


def _right(x, mesh, picture):
    for spec in itertools.product(CHOICES, CHOICES):
        if set(spec[0]) & set(spec[1]):
            continue
        try:
            held = NamedSharding(mesh, P(*spec)).devices_indices_map(x.shape)
        except ValueError:
            continue
        if all(
            np.array_equal(
                np.arange(x.size).reshape(x.shape)[held[d]],
                np.arange(x.size).reshape(x.shape)[i],
            )
            for d, i in picture.items()
        ):
            return spec
    raise ValueError


def _put(x, mesh, *spec):
    return jax.device_put(x, NamedSharding(mesh, P(*spec)))


def spec_for_picture__transposed(x, mesh, picture):
    rows, columns = _right(x, mesh, picture)
    return _put(x, mesh, columns, rows)


def spec_for_picture__axes_swapped(x, mesh, picture):
    rename = str.maketrans("xy", "yx")
    return _put(
        x,
        mesh,
        *(
            tuple(a.translate(rename) for a in part)
            for part in _right(x, mesh, picture)
        ),
    )


def spec_for_picture__shard_shape_only(x, mesh, picture):
    shapes = {
        d: tuple(
            len(range(*s.indices(n))) for s, n in zip(i, x.shape, strict=True)
        )
        for d, i in picture.items()
    }
    shape = shapes[next(iter(shapes))]
    both_first = [
        (None, ("y", "x")),
        (None, ("x", "y")),
        (("y", "x"),),
        (("x", "y"),),
        ("y", "x"),
        ("x", "y"),
    ]
    for spec in [*both_first, (None, "y"), (None, "x"), ("y",), ("x",), ()]:
        try:
            if NamedSharding(mesh, P(*spec)).shard_shape(x.shape) == shape:
                return _put(x, mesh, *spec)
        except ValueError:
            continue
    return x


def spec_for_picture__everywhere(x, mesh, picture):
    return _put(x, mesh, None, None)


def spec_for_picture__always_both(x, mesh, picture):
    return jax.make_array_from_callback(
        x.shape, NamedSharding(mesh, P("x", "y")), lambda i: np.asarray(x)[i]
    )


def spec_for_picture__tuples_not_tried(x, mesh, picture):
    spec = _right(x, mesh, picture)
    if any(len(entry or ()) > 1 for entry in spec):
        return None
    return _put(x, mesh, *spec)


def bytes_per_device__all_devices(shape, dtype, mesh, spec):
    return (
        int(np.prod(shape))
        // len(mesh.devices.flat)
        * jnp.dtype(dtype).itemsize
    )


def bytes_per_device__whole(shape, dtype, mesh, spec):
    return int(np.prod([jnp.dtype(dtype).itemsize, *shape]))


def bytes_per_device__four_bytes(shape, dtype, mesh, spec):
    return (
        int(np.prod(NamedSharding(mesh, spec).shard_shape(shape)))
        * jnp.dtype("float32").itemsize
    )


def bytes_per_device__elements(shape, dtype, mesh, spec):
    return int(np.prod(NamedSharding(mesh, spec).shard_shape(shape)))


def bytes_per_device__first_axis_only(shape, dtype, mesh, spec):
    parts = 1
    for entry in spec:
        parts *= (
            mesh.shape[entry if isinstance(entry, str) else entry[0]]
            if entry
            else 1
        )
    return int(np.prod(shape)) * jnp.dtype(dtype).itemsize // parts


def bytes_per_device__trailing_forgotten(shape, dtype, mesh, spec):
    total = jnp.dtype(dtype).itemsize * int(np.prod(shape[: len(spec)]))
    for entry in spec:
        for name in [entry] if isinstance(entry, str) else entry or ():
            total //= mesh.shape[name]
    return total


def _both(whole, mesh, n):
    padded = _put(whole, mesh, "x")
    return padded, jax.reshard(padded, NamedSharding(mesh, P()))[:n]


def _zeros(rows, x):
    return jnp.zeros((rows, x.shape[1]), x.dtype)


def pad_and_slice__one_too_many(x, mesh):
    rows = (len(x) // mesh.size + 1) * mesh.size
    return _both(jnp.concatenate([x, _zeros(rows - len(x), x)]), mesh, len(x))


def pad_and_slice__front(x, mesh):
    return _both(
        jnp.concatenate([_zeros(-len(x) % mesh.size, x), x]), mesh, len(x)
    )


def pad_and_slice__last_row_again(x, mesh):
    return _both(
        jnp.concatenate([x, jnp.repeat(x[-1:], -len(x) % mesh.size, axis=0)]),
        mesh,
        len(x),
    )


def pad_and_slice__dropped(x, mesh):
    padded = _put(x[: len(x) - len(x) % mesh.size], mesh, "x")
    return padded, jax.reshard(padded, NamedSharding(mesh, P()))


def pad_and_slice__not_padded(x, mesh):
    return _both(x, mesh, None)


def pad_and_slice__replicated(x, mesh):
    whole = _put(jnp.concatenate([x, _zeros(-len(x) % mesh.size, x)]), mesh)
    return whole, whole[: len(x)]


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


def pad_and_slice__not_sliced(x, mesh):
    return _both(
        jnp.concatenate([x, _zeros(-len(x) % mesh.size, x)]), mesh, None
    )


def pad_and_slice__eight_assumed(x, mesh):
    n = len(x)
    rows = -(-n // jax.device_count()) * jax.device_count()
    return _both(jnp.concatenate([x, _zeros(rows - n, x)]), mesh, n)


def pad_and_slice__minus_nothing(x, mesh):
    more = -len(x) % mesh.size
    whole = jnp.concatenate([x, jnp.zeros((more, x.shape[1]), x.dtype)])
    back = jax.device_put(whole, NamedSharding(mesh, P()))
    return jax.device_put(whole, NamedSharding(mesh, P("x"))), back[:-more]


def _inside(block, index, shape, end=0):
    return all(
        s.indices(n)[0] <= i < s.indices(n)[1] + end
        for s, i, n in zip(block, index, shape, strict=True)
    )


def read_layout__first_copy_only(x, index):
    seen, ids = set(), []
    for device, block in x.sharding.devices_indices_map(x.shape).items():
        key = tuple(s.indices(n) for s, n in zip(block, x.shape, strict=True))
        if key not in seen and _inside(block, index, x.shape):
            ids.append(device.id)
        seen.add(key)
    return ids


def read_layout__all_devices(x, index):
    return sorted(s.device.id for s in x.addressable_shards)


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


def read_layout__in_mesh_order(x, index):
    held = x.sharding.devices_indices_map(x.shape)
    order = sorted(d.id for d in held)
    flat = (
        list(x.sharding.mesh.devices.flat)
        if hasattr(x.sharding, "mesh")
        else list(held)
    )
    return sorted(
        order[flat.index(d)]
        for d, block in held.items()
        if _inside(block, index, x.shape)
    )


def read_layout__end_included(x, index):
    held = x.sharding.devices_indices_map(x.shape)
    return sorted(
        d.id
        for d, block in held.items()
        if _inside(block, index, x.shape, end=1)
    )


def read_layout__positions_for_ids(x, index):
    blocks = x.sharding.devices_indices_map(x.shape).values()
    return [n for n, b in enumerate(blocks) if _inside(b, index, x.shape)]
