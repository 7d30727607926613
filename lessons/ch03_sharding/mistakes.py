"""Known wrong answers of ch03_sharding, as code; words.toml explains them."""

import math

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def _find(x, mesh, picture, choices, same):
    """The first spec whose layout is the `same` as the picture's, or None."""
    for spec in choices:
        sharding = NamedSharding(mesh, P(*spec))
        try:
            held = sharding.devices_indices_map(x.shape)
        except ValueError:
            continue
        if same(held, picture):
            return spec
    return None


def _blocks(x, indices):
    return tuple(
        s.indices(n)[:2] for s, n in zip(indices, x.shape, strict=True)
    )


_BOTH = ("x", "y")
_SPECS = [
    (),
    ("x",),
    ("y",),
    (None, "x"),
    (None, "y"),
    _BOTH,
    ("y", "x"),
    (_BOTH,),
    (("y", "x"),),
]
_SPECS += [(None, _BOTH), (None, ("y", "x"))]


def _right_spec(x, mesh, picture):
    def same(held, picture):
        return all(
            _blocks(x, held[d]) == _blocks(x, picture[d]) for d in picture
        )

    return _find(x, mesh, picture, _SPECS, same) or ()


def spec_for_picture__transposed(x, mesh, picture):
    spec = (*_right_spec(x, mesh, picture), None, None)[:2]
    return jax.device_put(x, NamedSharding(mesh, P(*reversed(spec))))


def spec_for_picture__axes_swapped(x, mesh, picture):
    swap = {"x": "y", "y": "x"}
    spec = [
        tuple(swap[a] for a in s) if isinstance(s, tuple) else swap.get(s)
        for s in _right_spec(x, mesh, picture)
    ]
    return jax.device_put(x, NamedSharding(mesh, P(*spec)))


def spec_for_picture__shard_shape_only(x, mesh, picture):
    want = {tuple(b - a for a, b in _blocks(x, s)) for s in picture.values()}

    def same(held, _):
        return {
            tuple(b - a for a, b in _blocks(x, s)) for s in held.values()
        } == want

    spec = _find(x, mesh, picture, reversed(_SPECS), same) or ()
    return jax.device_put(x, NamedSharding(mesh, P(*spec)))


def spec_for_picture__everywhere(x, mesh, picture):
    return jax.device_put(x, NamedSharding(mesh, P()))


def spec_for_picture__always_both(x, mesh, picture):
    return jax.device_put(x, NamedSharding(mesh, P("x", "y")))


def spec_for_picture__tuples_not_tried(x, mesh, picture):
    spec = _right_spec(x, mesh, picture)
    if any(isinstance(entry, tuple) for entry in spec):
        return None
    return jax.device_put(x, NamedSharding(mesh, P(*spec)))


def bytes_per_device__all_devices(shape, dtype, mesh, spec):
    return math.prod(shape) * jnp.dtype(dtype).itemsize // mesh.size


def bytes_per_device__whole(shape, dtype, mesh, spec):
    return math.prod(shape) * jnp.dtype(dtype).itemsize


def bytes_per_device__four_bytes(shape, dtype, mesh, spec):
    return math.prod(NamedSharding(mesh, spec).shard_shape(shape)) * 4


def bytes_per_device__elements(shape, dtype, mesh, spec):
    return math.prod(NamedSharding(mesh, spec).shard_shape(shape))


def bytes_per_device__first_axis_only(shape, dtype, mesh, spec):
    size = math.prod(shape) * jnp.dtype(dtype).itemsize
    for part in spec:
        name = part[0] if isinstance(part, tuple) else part
        size //= mesh.shape[name] if name else 1
    return size


def bytes_per_device__trailing_forgotten(shape, dtype, mesh, spec):
    size = jnp.dtype(dtype).itemsize
    for n, part in zip(shape, spec, strict=False):
        names = part if isinstance(part, tuple) else (part,) if part else ()
        size *= n // math.prod(mesh.shape[name] for name in names)
    return size


def _pad(x, mesh, rows, before=0, spec=("x",), mode="constant"):
    n = x.shape[0]
    whole = jnp.pad(x, ((before, rows - before), (0, 0)), mode=mode)
    padded = jax.device_put(whole, NamedSharding(mesh, P(*spec)))
    return padded, jax.device_put(padded, NamedSharding(mesh, P()))[:n]


def pad_and_slice__one_too_many(x, mesh):
    return _pad(x, mesh, mesh.size - x.shape[0] % mesh.size)


def pad_and_slice__front(x, mesh):
    rows = -x.shape[0] % mesh.size
    return _pad(x, mesh, rows, before=rows)


def pad_and_slice__last_row_again(x, mesh):
    return _pad(x, mesh, -x.shape[0] % mesh.size, mode="edge")


def pad_and_slice__dropped(x, mesh):
    kept = x[: x.shape[0] // mesh.size * mesh.size]
    padded = jax.device_put(kept, NamedSharding(mesh, P("x")))
    return padded, jax.device_put(padded, NamedSharding(mesh, P()))


def pad_and_slice__not_padded(x, mesh):
    padded = jax.device_put(x, NamedSharding(mesh, P("x")))
    return padded, jax.device_put(padded, NamedSharding(mesh, P()))


def pad_and_slice__replicated(x, mesh):
    return _pad(x, mesh, -x.shape[0] % mesh.size, spec=())


def pad_and_slice__sliced_while_sharded(x, mesh):
    padded, _ = _pad(x, mesh, -x.shape[0] % mesh.size)
    return padded, padded[: x.shape[0]]


def pad_and_slice__sliced_then_placed(x, mesh):
    padded, _ = _pad(x, mesh, -x.shape[0] % mesh.size)
    everywhere = NamedSharding(mesh, P())
    return padded, jax.device_put(padded[: x.shape[0]], everywhere)


def pad_and_slice__not_sliced(x, mesh):
    padded, _ = _pad(x, mesh, -x.shape[0] % mesh.size)
    return padded, jax.device_put(padded, NamedSharding(mesh, P()))


def pad_and_slice__eight_assumed(x, mesh):
    return _pad(x, mesh, -x.shape[0] % 8)


def pad_and_slice__minus_nothing(x, mesh):
    rows = -x.shape[0] % mesh.size
    padded, _ = _pad(x, mesh, rows)
    return padded, jax.device_put(padded, NamedSharding(mesh, P()))[:-rows]


def _holders(x, index, shards):
    def holds(shard):
        return all(
            i in range(*s.indices(n))
            for s, i, n in zip(shard.index, index, x.shape, strict=True)
        )

    return sorted(s.device.id for s in shards if holds(s))


def read_layout__first_copy_only(x, index):
    return _holders(
        x, index, [s for s in x.addressable_shards if s.replica_id == 0]
    )


def read_layout__all_devices(x, index):
    return sorted(d.id for d in x.sharding.device_set)


def read_layout__open_slices(x, index):
    return sorted(
        s.device.id
        for s in x.addressable_shards
        if all(
            c.start <= i < c.stop for c, i in zip(s.index, index, strict=True)
        )
    )


def read_layout__open_range(x, index):
    def holds(shard):
        parts = zip(shard.index, index, strict=True)
        return all(i in range(s.start, s.stop) for s, i in parts)

    return sorted(s.device.id for s in x.addressable_shards if holds(s))


def read_layout__in_mesh_order(x, index):
    shards = x.addressable_shards
    held = _holders(x, index, shards)
    order = sorted(s.device.id for s in shards)
    mesh = getattr(x.sharding, "mesh", None)
    places = {d.id: k for k, d in enumerate(mesh.devices.flat)} if mesh else {}
    return sorted(order[places.get(d, 0)] for d in held)


def read_layout__end_included(x, index):
    def holds(shard):
        parts = zip(shard.index, index, x.shape, strict=True)
        return all(s.indices(n)[0] <= i <= s.indices(n)[1] for s, i, n in parts)

    return sorted(s.device.id for s in x.addressable_shards if holds(s))


def read_layout__positions_for_ids(x, index):
    shards = enumerate(x.addressable_shards)
    return [n for n, shard in shards if _holders(x, index, [shard])]
