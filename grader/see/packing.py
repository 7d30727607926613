"""Pack Python objects as `Value`s. An unreadable object raises an error here, in the process that returned it."""

import base64
import dataclasses
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from grader.see import values
from grader.see.array_values import Array, Block, Bounds, Placement
from grader.see.values import Entry, Value

MOST_BYTES = 1 << 26  # of one array: an exercise's are far smaller
FEW_BYTES = 1 << 14  # of an argument: so few are kept to compare with what came back
MOST_DEEP = 40


def pack(x: Any, data: bool = True, depth: int = 0) -> Value:
    """Pack x as a Value. data=False leaves out the bytes of all but small arrays: enough to show.

    Raises ValueError for an array of more than MOST_BYTES bytes.
    """
    import jax
    from jax.sharding import Mesh, PartitionSpec, Sharding

    def inner(several: Any) -> tuple[Value, ...]:
        return tuple(pack(y, data, depth + 1) for y in several)

    if depth > MOST_DEEP:
        return _other(x)
    if x is None:
        return values.Nothing()
    if isinstance(x, (bool, np.bool_)):
        return values.Bool(bool(x))
    if isinstance(x, (int, np.integer)) and not isinstance(x, np.timedelta64):
        return values.Int(int(x))
    if isinstance(x, (float, np.floating)):
        return values.Float(float(x))
    if isinstance(x, (complex, np.complexfloating)):
        return values.Complex(float(x.real), float(x.imag))
    if isinstance(x, str):
        return values.Text(str.__str__(x))  # NumPy's and an Enum's are their own kind of str
    if isinstance(x, bytes):
        return values.Bytes(base64.b64encode(x).decode())
    if isinstance(x, jax.Array):
        return _jax_array(x, data)
    if isinstance(x, np.ndarray):
        return _array(np.asarray(x), data)  # a matrix, for instance, is never flat
    if isinstance(x, PartitionSpec):
        return values.Spec(tuple(map(_entry, x)))
    if isinstance(x, Mesh):
        return values.Mesh(tuple((str(k), int(v)) for k, v in x.shape.items()), _ids(x))
    if isinstance(x, Sharding):
        return _sharding(x)
    if isinstance(x, jax.Device):
        return values.Device(int(x.id))  # type: ignore[union-attr]
    if isinstance(x, jax.ShapeDtypeStruct):
        return values.Struct(str(x.dtype), tuple(x.shape))
    if isinstance(x, np.dtype) or (isinstance(x, type) and issubclass(x, np.generic)) or _is_jax_type(x):
        return values.DType(np.dtype(x).name)
    if isinstance(x, slice):
        return values.Slice(inner((x.start, x.stop, x.step)))
    if isinstance(x, dict):
        return values.Dict(inner(x.keys()), inner(x.values()))  # shown in its own order
    if isinstance(x, (list, tuple)):
        return values.List(inner(x)) if isinstance(x, list) else values.Tuple(inner(x))
    if isinstance(x, (set, frozenset)):
        return values.Set(tuple(sorted(inner(x), key=str)))
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        return values.Node(type(x).__name__, inner(getattr(x, f.name) for f in dataclasses.fields(x)))
    if isinstance(x, Iterator):  # JAX will not take one for a leaf much longer
        return _other(x)
    if not jax.tree_util.treedef_is_leaf(jax.tree_util.tree_structure(x)):
        return values.Node(type(x).__name__, inner(jax.tree_util.tree_leaves(x)))
    return _other(x)


def _other(x: Any) -> values.Other:
    called = getattr(x, "__name__", None) if callable(x) else None
    return values.Other(type(x).__name__, called, re.sub(r"0x[0-9a-f]+", "…", repr(x)[:200]))


def _is_jax_type(x: Any) -> bool:
    """Return whether x is a type such as jnp.float32, which is neither a dtype nor a NumPy class."""
    return isinstance(getattr(x, "dtype", None), np.dtype) and not hasattr(x, "shape")


def _entry(entry: Any) -> Entry:
    """Pack one entry of a PartitionSpec; P("x") and P(("x",)) mean the same."""
    if entry is None or isinstance(entry, str):
        return entry
    if isinstance(entry, tuple):
        return entry[0] if len(entry) == 1 else (tuple(map(str, entry)) or None)
    return str(entry)


def _ids(mesh: Any) -> tuple[int, ...]:
    devices = getattr(mesh, "devices", None)
    return () if devices is None else tuple(int(d.id) for d in np.ravel(devices))


def _sharding(x: Any) -> values.Sharding:
    from jax.sharding import NamedSharding

    name = type(x).__name__
    if isinstance(x, NamedSharding):
        spec = [_entry(e) for e in x.spec]
        while spec and spec[-1] is None:
            spec.pop()
        return values.Sharding(name, mesh=pack(x.mesh), spec=tuple(spec), memory=x.memory_kind)
    return values.Sharding(name, tuple(sorted(d.id for d in x.device_set)))


def _jax_array(x: Any, data: bool) -> Value:
    import jax
    import jax.numpy as jnp
    from jax.core import Tracer
    from jax.sharding import NamedSharding

    if isinstance(x, Tracer):
        return Array(str(x.dtype), tuple(x.shape), jax=True, traced=True)
    if jnp.issubdtype(x.dtype, jax.dtypes.extended):  # a key made by jax.random.key
        return values.Node(str(x.dtype), (pack(jax.random.key_data(x), data),))
    where = sorted((d.id, _bounds(index, x.shape)) for d, index in x.sharding.devices_indices_map(x.shape).items())
    spec = tuple(map(_entry, x.sharding.spec)) if isinstance(x.sharding, NamedSharding) else None
    placement = Placement(len(x.sharding.device_set), x.sharding.is_fully_replicated, tuple(where), spec)
    about: dict[str, Any] = {"jax": True, "placement": placement}
    if data and len({bounds for _, bounds in where}) < len(where):
        about["copies"] = _drifted(_parts(x))
    if x.is_fully_addressable:
        return dataclasses.replace(_array(np.asarray(x), data), **about)
    parts = _parts(x)
    blocks = tuple(_block(bounds, part, data) for _, bounds, part in parts)
    first = _first(parts[0][2]) + "…" if parts else ""
    return Array(x.dtype.name, tuple(x.shape), partial=True, blocks=blocks, first=first, **about)


Part = tuple[int, Bounds, np.ndarray]  # a device, and what it holds


def _parts(x: Any) -> list[Part]:
    shards = sorted(x.addressable_shards, key=lambda s: s.device.id)
    return [(int(s.device.id), _bounds(s.index, x.shape), np.asarray(s.data)) for s in shards]


def _drifted(parts: list[Part]) -> tuple[tuple[int, Block], ...]:
    """Return the copies that differ: for each block with different bytes on some devices, each version once."""
    held: dict[Bounds, dict[bytes, tuple[int, np.ndarray]]] = {}
    for device, bounds, part in parts:
        held.setdefault(bounds, {}).setdefault(part.tobytes(), (device, part))
    return tuple(
        (device, _block(bounds, part, True))
        for bounds, several in held.items()
        if len(several) > 1
        for device, part in several.values()
    )


def _bounds(index: tuple[slice, ...], shape: tuple[int, ...]) -> Bounds:
    return tuple(s.indices(n)[:2] for s, n in zip(index, shape, strict=True))


def _array(x: np.ndarray, data: bool) -> Array:
    """Pack a whole array on the host."""
    if (
        x.dtype.hasobject or x.dtype.kind in "SUMm" or issubclass(x.dtype.type, np.void)
    ):  # texts, dates, records: no numbers
        objects = tuple(pack(v) for v in x.ravel()[:100])
        return Array(x.dtype.name, x.shape, objects=objects, first=repr(x.ravel()[:4].tolist())[:60])
    block = _block(tuple((0, n) for n in x.shape), x, data)
    return Array(x.dtype.name, x.shape, blocks=(block,), first=_first(x))


def _block(bounds: Bounds, x: np.ndarray, data: bool) -> Block:
    if x.nbytes > MOST_BYTES:
        raise ValueError(f"an array of {x.nbytes:,} bytes came back: far too large to compare")
    kept = data or x.nbytes <= FEW_BYTES
    return Block(bounds, base64.b64encode(np.ascontiguousarray(x).tobytes()).decode() if kept else None)


def _first(x: np.ndarray, most: int = 6) -> str:
    """Return the first numbers on one line: `[0.25 1.5 …]`; `2.5` for an array without dimensions."""
    flat = x.ravel()[:most]
    if x.dtype.name in ("bfloat16",) or x.dtype.name.startswith("float8"):
        flat = flat.astype(np.float32)
    numbers = [f"{v:.4g}" if np.issubdtype(flat.dtype, np.floating) else str(v) for v in flat]
    return numbers[0] if x.ndim == 0 else "[" + " ".join(numbers) + (" …]" if x.size > most else "]")
