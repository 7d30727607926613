"""Python values as plain JSON data, so that an answer seen in one process can be compared in another.

A packed value is a dict with a type "t". Arrays keep their bytes, where each block lies, and a few numbers to show;
what cannot be read raises here, in the process of the one who returned it.
"""

import base64
import dataclasses
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

MOST_BYTES = 1 << 26  # of one array: an exercise's are far smaller
FEW_BYTES = 1 << 14  # of an argument: so few are kept to compare with what came back
MOST_DEEP = 40


def pack(x: Any, data: bool = True, depth: int = 0) -> dict[str, Any]:
    """x as JSON data. data=False leaves out the bytes of all but small arrays: enough to show.

    Raises ValueError for an array of more than MOST_BYTES bytes.
    """
    import jax
    from jax.sharding import Mesh, PartitionSpec, Sharding

    def inner(y: Any) -> dict[str, Any]:
        return pack(y, data, depth + 1)

    if depth > MOST_DEEP:
        return _other(x)
    if x is None or isinstance(x, (bool, np.bool_)):
        return {"t": "none"} if x is None else {"t": "bool", "v": bool(x)}
    if isinstance(x, (int, np.integer)) and not isinstance(x, np.timedelta64):
        return {"t": "int", "v": int(x)}
    if isinstance(x, (float, np.floating)):
        return {"t": "float", "v": float(x)}
    if isinstance(x, (complex, np.complexfloating)):
        return {"t": "complex", "v": [float(x.real), float(x.imag)]}
    if isinstance(x, (str, bytes)):
        text = isinstance(x, str)  # NumPy's and an Enum's are their own kind of str
        return {"t": "str", "v": str.__str__(x)} if text else {"t": "bytes", "v": base64.b64encode(x).decode()}
    if isinstance(x, jax.Array):
        return _jax_array(x, data)
    if isinstance(x, np.ndarray):
        return {"t": "array", "jax": False, **_numbers(x, data)}
    if isinstance(x, PartitionSpec):
        return {"t": "spec", "v": [_entry(e) for e in x]}
    if isinstance(x, Mesh):
        return {"t": "mesh", "axes": [[str(k), v] for k, v in x.shape.items()], "ids": _ids(x)}
    if isinstance(x, Sharding):
        return _sharding(x)
    if isinstance(x, jax.Device):
        return {"t": "device", "v": int(x.id)}  # type: ignore[union-attr]
    if isinstance(x, jax.ShapeDtypeStruct):
        return {"t": "struct", "dtype": str(x.dtype), "shape": list(x.shape)}
    if isinstance(x, np.dtype) or (isinstance(x, type) and issubclass(x, np.generic)) or _is_jax_type(x):
        return {"t": "dtype", "v": np.dtype(x).name}
    if isinstance(x, slice):
        return {"t": "slice", "items": [inner(v) for v in (x.start, x.stop, x.step)]}
    if isinstance(x, dict):
        pairs = sorted(x.items(), key=lambda p: str(p[0]))
        return {"t": "dict", "keys": [inner(k) for k, _ in pairs], "items": [inner(v) for _, v in pairs]}
    if isinstance(x, (list, tuple)):
        return {"t": "list" if isinstance(x, list) else "tuple", "items": [inner(v) for v in x]}
    if isinstance(x, (set, frozenset)):
        return {"t": "set", "items": sorted((inner(v) for v in x), key=str)}
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        fields = {f.name: getattr(x, f.name) for f in dataclasses.fields(x)}
        return {"t": "node", "v": type(x).__name__, "items": [inner(v) for v in fields.values()]}
    if isinstance(x, Iterator):  # JAX will not take one for a leaf much longer
        return _other(x)
    if not jax.tree_util.treedef_is_leaf(jax.tree_util.tree_structure(x)):
        return {"t": "node", "v": type(x).__name__, "items": [inner(v) for v in jax.tree_util.tree_leaves(x)]}
    return _other(x)


def _other(x: Any) -> dict[str, Any]:
    name = getattr(x, "__name__", None) if callable(x) else None
    return {"t": "other", "v": type(x).__name__, "name": name, "repr": re.sub(r"0x[0-9a-f]+", "…", repr(x)[:200])}


def _is_jax_type(x: Any) -> bool:
    """jnp.float32 and its like are neither dtypes nor classes of NumPy."""
    return isinstance(getattr(x, "dtype", None), np.dtype) and not hasattr(x, "shape")


def _entry(entry: Any) -> Any:
    """One dimension of a PartitionSpec; P("x") and P(("x",)) mean the same."""
    if entry is None or isinstance(entry, str):
        return entry
    if isinstance(entry, tuple):
        return entry[0] if len(entry) == 1 else (list(map(str, entry)) or None)
    return str(entry)


def _ids(mesh: Any) -> list[int]:
    devices = getattr(mesh, "devices", None)
    return [] if devices is None else [int(d.id) for d in np.ravel(devices)]


def _sharding(x: Any) -> dict[str, Any]:
    from jax.sharding import NamedSharding

    if isinstance(x, NamedSharding):
        spec = [_entry(e) for e in x.spec]
        while spec and spec[-1] is None:
            spec.pop()
        return {"t": "sharding", "mesh": pack(x.mesh), "spec": spec, "memory": x.memory_kind}
    return {"t": "sharding", "devices": sorted(d.id for d in x.device_set), "v": type(x).__name__}


def _jax_array(x: Any, data: bool) -> dict[str, Any]:
    import jax
    import jax.numpy as jnp
    from jax.core import Tracer
    from jax.sharding import NamedSharding

    if isinstance(x, Tracer):
        return {"t": "array", "jax": True, "dtype": str(x.dtype), "shape": list(x.shape), "traced": True}
    if jnp.issubdtype(x.dtype, jax.dtypes.extended):  # a key made by jax.random.key
        return {"t": "node", "v": str(x.dtype), "items": [pack(jax.random.key_data(x), data)]}
    packed: dict[str, Any] = {"t": "array", "jax": True, "count": len(x.sharding.device_set)}
    if isinstance(x.sharding, NamedSharding):
        packed["spec"] = [_entry(e) for e in x.sharding.spec]
    packed["copies"] = x.sharding.is_fully_replicated
    packed["where"] = sorted(
        [d.id, _block(index, x.shape)] for d, index in x.sharding.devices_indices_map(x.shape).items()
    )
    if x.is_fully_addressable:
        return packed | _numbers(np.asarray(x), data)
    shards = sorted(x.addressable_shards, key=lambda s: s.device.id)
    parts = [{"block": _block(s.index, x.shape), **_numbers(np.asarray(s.data), data)} for s in shards]
    return packed | {"dtype": str(x.dtype), "shape": list(x.shape), "parts": parts}


def _block(index: tuple[slice, ...], shape: tuple[int, ...]) -> list[list[int]]:
    return [list(s.indices(n)[:2]) for s, n in zip(index, shape, strict=True)]


def _numbers(x: np.ndarray, data: bool) -> dict[str, Any]:
    """dtype, shape and bytes of an array, and its first numbers as text."""
    packed: dict[str, Any] = {"dtype": x.dtype.name, "shape": list(x.shape)}
    if x.dtype.hasobject or x.dtype.kind in "SUMm" or x.dtype.type is np.void:  # texts, dates, records: no numbers
        return packed | {"first": repr(x.ravel()[:4].tolist())[:60], "objects": [pack(v) for v in x.ravel()[:100]]}
    if x.nbytes > MOST_BYTES:
        raise ValueError(f"an array of {x.nbytes:,} bytes came back: far too large to compare")
    packed["first"] = _first(x)
    if data or x.nbytes <= FEW_BYTES:
        packed["data"] = base64.b64encode(np.ascontiguousarray(x).tobytes()).decode()
    return packed


def _first(x: np.ndarray, most: int = 6) -> str:
    """The first numbers on one line: `[0.25 1.5 …]`, `2.5` for no dimension."""
    flat = x.ravel()[:most]
    if x.dtype.name in ("bfloat16",) or x.dtype.name.startswith("float8"):
        flat = flat.astype(np.float32)
    words = [f"{v:.4g}" if np.issubdtype(flat.dtype, np.floating) else str(v) for v in flat]
    return words[0] if x.ndim == 0 else "[" + " ".join(words) + (" …]" if x.size > most else "]")


def unpack(part: dict[str, Any]) -> np.ndarray:
    """The array that `_numbers` packed. Raises ValueError when the data is not what it says."""
    import ml_dtypes  # noqa: F401 (teaches NumPy the names bfloat16, float8_…)

    data = base64.b64decode(part["data"])
    return np.frombuffer(data, np.dtype(part["dtype"])).reshape(part["shape"])
