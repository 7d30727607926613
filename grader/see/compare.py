"""Compare packed values. `difference` says the first thing that differs, or None."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.see.values import unpack


@dataclass
class Difference:
    """What differs first.

    kind  "type", "shape", "dtype", "numbers", "equal" (not equal), "keys", "length", "placement", "printed"
    path  where inside a tree: `["w"][0]`, empty for the value itself
    got, expected  the packed parts; at: the index of the first number that differs, or the device
    """

    kind: str
    got: Any
    expected: Any
    path: str = ""
    at: str = ""
    numbers: tuple[str, str] = ("", "")  # got and expected at that index


def difference(got: Any, expected: Any, tolerance: float, strict: bool = True, path: str = "") -> Difference | None:
    """The first difference in the value. strict=False (an oracle's value) leaves dtypes and kinds of arrays out."""
    if _is_number(expected) or _is_number(got):
        return _scalars(got, expected, tolerance, strict, path)
    if got["t"] != expected["t"] and (strict or not {got["t"], expected["t"]} <= {"list", "tuple"}):
        return Difference("type", got, expected, path)
    if got["t"] == "array":
        return _arrays(got, expected, tolerance, strict, path)
    if "items" not in expected:
        return None if _plain(got) == _plain(expected) else Difference("equal", got, expected, path)
    if got.get("v") != expected.get("v"):
        return Difference("type", got, expected, path)
    if _plain(got.get("keys")) != _plain(expected.get("keys")):
        return Difference("keys", got, expected, path)
    if len(got["items"]) != len(expected["items"]):
        return Difference("length", got, expected, path)
    keys = [k.get("v") for k in expected.get("keys", [])] or list(range(len(expected["items"])))
    for key, a, b in zip(keys, got["items"], expected["items"], strict=True):
        if found := difference(a, b, tolerance, strict, f"{path}[{key!r}]"):
            return found
    return None


def placement(got: Any, expected: Any, path: str = "") -> Difference | None:
    """The first array whose blocks lie on other devices than expected. The values must agree already."""
    if expected["t"] == "array" and "where" in expected:
        if got.get("where") == expected["where"]:
            return None
        mine, right = dict(map(_pair, got.get("where", []))), dict(map(_pair, expected["where"]))
        first = next((d for d in sorted(mine | right) if mine.get(d) != right.get(d)), "")
        return Difference("placement", got, expected, path, at=str(first))
    keys = [k.get("v") for k in expected.get("keys", [])] or list(range(len(expected.get("items", []))))
    for key, a, b in zip(keys, got.get("items", []), expected.get("items", []), strict=True):
        if found := placement(a, b, f"{path}[{key!r}]"):
            return found
    return None


def _pair(entry: Any) -> tuple[Any, Any]:
    return entry[0], entry[1]


def _plain(x: Any) -> Any:
    """Without what is only there to be shown."""
    if isinstance(x, dict):
        return {k: _plain(v) for k, v in x.items() if k not in ("first", "repr")}
    return [_plain(v) for v in x] if isinstance(x, list) else x


def _is_number(x: Any) -> bool:
    return x["t"] in ("bool", "int", "float", "complex")


def _scalars(got: Any, expected: Any, tolerance: float, strict: bool, path: str) -> Difference | None:
    """A Python number equals a NumPy one and an array without dimensions, unless an array was asked for."""
    if expected["t"] == "array" and (strict or expected["shape"]):
        return Difference("type", got, expected, path)
    a, b = _number(got, strict), _number(expected, strict)
    if a is None or b is None:
        return Difference("type", got, expected, path)
    if isinstance(b, bool) != isinstance(a, bool):
        return Difference("type", got, expected, path)
    exact = isinstance(a, int) and isinstance(b, int)
    if not (a == b if exact else _close(a, b, tolerance)):
        return Difference("equal", got, expected, path)
    whole = strict and isinstance(b, int) and isinstance(a, float)  # 4.0 where a whole number was asked for
    return Difference("type", got, expected, path) if whole else None


def _close(a: Any, b: Any, tolerance: float) -> bool:
    try:
        return bool(np.isclose(complex(a), complex(b), rtol=tolerance, atol=0, equal_nan=True))
    except OverflowError:  # a whole number that no float can say
        return a == b


def _number(x: Any, strict: bool) -> Any:
    if x["t"] == "array":
        part = x.get("parts", [x])[0]
        if strict and x.get("count", 1) > 1:
            return None  # a number asked for: an array of a whole mesh is not yet one
        return unpack(part).item() if x["shape"] == [] and "data" in part else None
    return complex(*x["v"]) if x["t"] == "complex" else x["v"] if _is_number(x) else None


def _arrays(got: Any, expected: Any, tolerance: float, strict: bool, path: str) -> Difference | None:
    if got["shape"] != expected["shape"]:
        return Difference("shape", got, expected, path)
    if strict and got["dtype"] != expected["dtype"]:
        return Difference("dtype", got, expected, path)
    if ("objects" in got) != ("objects" in expected):
        return Difference("dtype", got, expected, path)
    if got.get("traced") or (strict and "parts" in got and "parts" not in expected):
        return Difference("type", got, expected, path)
    whole = None if "parts" in expected else unpack(expected) if "data" in expected else expected.get("objects")
    if not isinstance(whole, np.ndarray) and whole is not None:
        return None if _plain(got.get("objects")) == _plain(whole) else Difference("numbers", got, expected, path)
    right = {str(p["block"]): unpack(p) for p in expected.get("parts", [])}
    scale = max((scale_of(p) for p in (right.values() if whole is None else [whole])), default=0.0)
    for part in got.get("parts", [got]):
        block = part.get("block", [[0, n] for n in got["shape"]])
        want = right.get(str(block)) if whole is None else whole[tuple(slice(a, b) for a, b in block)]
        if want is None:
            return Difference("placement", got, expected, path)  # other blocks on this process
        mine = unpack(part)
        if (at := _first_apart(mine, want, tolerance, scale)) is not None:
            index = [i + a for i, (a, _) in zip(at, block, strict=True)]
            numbers = (f"{mine[at].item():.6g}", f"{want[at].item():.6g}") if mine.dtype.kind not in "SU" else ("", "")
            return Difference("numbers", got, expected, path, str(index) if index else "", numbers)
    return None


def scale_of(x: np.ndarray) -> float:
    """The largest finite number of an array of floats, without its sign; 0 for whole numbers."""
    if x.size == 0 or x.dtype.kind in "biuSUO":
        return 0.0
    x = np.abs(x.astype(np.complex128 if x.dtype.kind == "c" else np.float64))
    return float(np.max(x, where=np.isfinite(x), initial=0.0))


def slack(tolerance: float, *arrays: np.ndarray) -> float:
    """The relative tolerance, at least what the narrowest float dtype can hold."""
    narrow = [a.dtype for a in arrays if a.dtype.kind not in "biuSU"]
    eps = [2.0**-7 if d.name == "bfloat16" or d.itemsize == 1 else 1e-3 if d.itemsize == 2 else 0.0 for d in narrow]
    return max(tolerance, *(4 * e for e in eps), 0.0)


def _first_apart(a: np.ndarray, b: np.ndarray, tolerance: float, scale: float) -> tuple[int, ...] | None:
    """The index of the first number that is not close; integers must be equal."""
    if a.dtype.kind in "biuSU" and b.dtype.kind in "biuSU":
        apart = a != b
    else:
        tolerance = slack(tolerance, a)
        wide = np.complex128 if "c" in (a.dtype.kind, b.dtype.kind) else np.float64
        apart = ~np.isclose(a.astype(wide), b.astype(wide), rtol=tolerance, atol=tolerance * scale, equal_nan=True)
    return tuple(int(i) for i in np.argwhere(apart)[0]) if np.any(apart) else None


LEFT_ALONE = re.compile("Gloo|Timed out|Connection closed")  # a collective gave up: its peer did not come


def masked(text: str) -> str:
    """An error's first line without what varies: numbers, paths, addresses."""
    line = text.strip().splitlines()[0] if text.strip() else ""
    return re.sub(r"(/\S+|0x[0-9a-f]+|\d+)", "#", line)[:200]
