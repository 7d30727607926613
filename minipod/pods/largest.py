"""Find the largest arrays of a program that does not fit, for which the compiler reports only the sum."""

from math import prod
from pathlib import Path
from typing import Any

import jax
import numpy as np

COUNT = 5
_OWN = Path(__file__).parents[1]


def values(arguments: Any, jaxpr: Any, devices: int) -> dict[str, Any]:
    """Return the largest arguments of a program and the largest values that it computes, at most `COUNT` of each.

    The result is `{"arguments": total bytes, "largest": [{"what", "shape", "bytes", "whole"}, …]}`, largest first.
    Bytes of arguments are those of one device, by their shardings. Values count whole, since the compiler's choice of
    their sharding is not known; they are sorted as if all `devices` shared them. jaxpr: may be None.
    """
    leaves = [
        (jax.tree_util.keystr(path), leaf, _bytes(leaf))
        for path, leaf in jax.tree_util.tree_leaves_with_path(arguments)
        if hasattr(leaf, "shape") and hasattr(leaf, "dtype")
    ]
    largest = [
        {"what": f"argument {where}", "shape": _shape(leaf), "bytes": size, "whole": False}
        for where, leaf, size in sorted(leaves, key=lambda each: -each[2])[:COUNT]
    ]
    made: dict[str, dict[str, Any]] = {}
    for equation in _equations(jaxpr):
        for value in equation.outvars:
            if not hasattr(aval := value.aval, "dtype"):
                continue
            size = prod(aval.shape) * _width(aval.dtype)
            where = _line(equation)
            if size > made.get(where, {"bytes": -1})["bytes"]:
                what = f"{equation.primitive.name}{where}"
                made[where] = {"what": what, "shape": _shape(aval), "bytes": size, "whole": True}
    largest += sorted(made.values(), key=lambda each: -each["bytes"])[:COUNT]
    largest.sort(key=lambda each: -each["bytes"] / (devices if each["whole"] else 1))
    return {"arguments": sum(size for _, _, size in leaves), "largest": largest}


def _equations(jaxpr: Any) -> Any:
    if jaxpr is None:
        return
    for equation in getattr(jaxpr, "jaxpr", jaxpr).eqns:
        inner = [p for p in jax.tree.leaves([*equation.params.values()], is_leaf=_is_jaxpr) if _is_jaxpr(p)]
        for each in inner:
            yield from _equations(each)
        if not inner:
            yield equation


def _is_jaxpr(value: Any) -> bool:
    return hasattr(value, "eqns") or hasattr(value, "jaxpr")


def _line(equation: Any) -> str:
    """ " (train.py, line 12)": the innermost line outside JAX and installed packages; "" if there is none."""
    frames = getattr(equation.source_info.traceback, "frames", ())
    for frame in frames:
        path = Path(frame.file_name)
        if path.is_file() and "site-packages" not in path.parts and _OWN not in path.parents:
            return f" ({path.name}, line {frame.line_num})"
    return ""


def _bytes(leaf: Any) -> int:
    sharding = None if isinstance(leaf, jax.Array) else getattr(leaf, "sharding", None)
    shape = sharding.shard_shape(leaf.shape) if isinstance(sharding, jax.sharding.NamedSharding) else leaf.shape
    return prod(shape) * _width(leaf.dtype)


def _width(dtype: Any) -> int:
    # The dtype of a random key is not one of NumPy
    return dtype.itemsize if hasattr(dtype, "itemsize") else np.dtype(dtype).itemsize


def _shape(value: Any) -> str:
    return f"{value.dtype}[{','.join(map(str, value.shape))}]"
