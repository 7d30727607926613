"""Compare values: `difference` returns the first thing that differs, or None."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grader.see.array_values import Array, Block, Bounds
from grader.see.values import Dict, List, Node, Number, Tree, Tuple, Value


@dataclass(frozen=True)
class Difference:
    """The first difference.

    kind  "type", "shape", "dtype", "numbers", "equal" (not equal), "keys", "length", "placement", "copies"
    path  the place inside a tree: `["w"][0]`; empty for the value itself
    got, expected  the parts; at: the index of the first number that differs; device: the first one with a different
        block, or whose numbers differ from those of the device `first`; numbers: what the two devices hold there
    inside  the row around one of several texts or numbers: its path, what came back, what was expected
    """

    kind: str
    got: Value
    expected: Value
    path: str = ""
    at: str = ""
    numbers: tuple[str, str] = ("", "")  # got and expected at that index
    device: int | None = None
    first: int | None = None
    inside: tuple[str, Value, Value] | None = None


@dataclass(frozen=True)
class PrintedDifference:
    """A difference between printed and expected text."""

    got: str
    expected: str


def difference(got: Value, expected: Value, tolerance: float, strict: bool = True, path: str = "") -> Difference | None:
    """Return the first difference in the value. strict=False (an oracle's value) ignores dtypes and kinds of arrays."""
    if isinstance(got, Number) or isinstance(expected, Number):
        return _scalars(got, expected, tolerance, strict, path)
    sequences = isinstance(got, List | Tuple) and isinstance(expected, List | Tuple)
    if type(got) is not type(expected) and (strict or not sequences):
        return Difference("type", got, expected, path)
    if isinstance(got, Array) and isinstance(expected, Array):
        return _arrays(got, expected, tolerance, strict, path)
    if not (isinstance(got, Tree) and isinstance(expected, Tree)):
        return None if got == expected else Difference("equal", got, expected, path)
    if isinstance(got, Node) and got.kind != expected.kind:
        return Difference("type", got, expected, path)
    if isinstance(got, Dict) and isinstance(expected, Dict):
        if (ordered := got.in_order_of(expected)) is None:
            return Difference("keys", got, expected, path)
        got = ordered
    if len(got.items) != len(expected.items):
        return Difference("length", got, expected, path)
    for label, a, b in zip(expected.labels, got.items, expected.items, strict=True):
        if inner := difference(a, b, tolerance, strict, f"{path}[{label!r}]"):
            row = isinstance(expected, List | Tuple) and not any(
                isinstance(x, LARGE) for x in (*got.items, *expected.items)
            )
            return replace(inner, inside=(path, got, expected)) if row else inner
    return None


def copies(got: Value, tolerance: float, path: str = "") -> Difference | None:
    """Find the first array whose copies on two devices differ by more than rounding.

    Values without rounding errors, such as integers and booleans, are compared byte by byte.
    """
    if isinstance(got, Array):
        # Not with what `whole` shows: that is of the mesh's first device, which need not be the lowest.
        firsts: dict[Bounds, tuple[int, Block]] = {}
        for device, block in got.copies:
            first, like = firsts.setdefault(block.bounds, (device, block))
            one, other = got.numbers(like), got.numbers(block)
            if (at := _first_apart(other, one, tolerance, scale_of(one))) is not None:
                return Difference("copies", got, got, path, *_there(at, block, other, one), device, first)
    for label, item in zip(got.labels, got.items, strict=True) if isinstance(got, Tree) else ():
        if inner := copies(item, tolerance, f"{path}[{label!r}]"):
            return inner
    return None


LARGE = (Tree, Array)  # what is better shown by itself


def placement(got: Value, expected: Value, path: str = "") -> Difference | None:
    """Return the first array whose blocks are not on the expected devices. The values must be equal already."""
    if isinstance(expected, Array) and expected.placement:
        mine, right = got.where if isinstance(got, Array) else {}, expected.where
        if mine == right:
            return None
        first = next((d for d in sorted(mine | right) if mine.get(d) != right.get(d)), None)
        return Difference("placement", got, expected, path, device=first)
    if isinstance(got, Tree) and isinstance(expected, Tree):
        if isinstance(got, Dict) and isinstance(expected, Dict):
            got = got.in_order_of(expected) or got
        for label, a, b in zip(expected.labels, got.items, expected.items, strict=True):
            if inner := placement(a, b, f"{path}[{label!r}]"):
                return inner
    return None


def _scalars(got: Value, expected: Value, tolerance: float, strict: bool, path: str) -> Difference | None:
    """Compare numbers: a Python number equals a NumPy number and a 0-d array, unless an array was asked for."""
    if isinstance(expected, Array) and (strict or expected.shape):
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


def _close(a: complex, b: complex, tolerance: float) -> bool:
    try:
        return bool(np.isclose(complex(a), complex(b), rtol=tolerance, atol=0, equal_nan=True))
    except OverflowError:  # a whole number that no float can say
        return a == b


def _number(x: Value, strict: bool) -> Any:
    if isinstance(x, Array):
        if strict and x.count > 1:
            return None  # a number asked for: an array of a whole mesh is not yet one
        return x.numbers(x.blocks[0]).item() if x.shape == () and x.has_numbers else None
    return x.number if isinstance(x, Number) else None


def _arrays(got: Array, expected: Array, tolerance: float, strict: bool, path: str) -> Difference | None:
    if got.shape != expected.shape:
        return Difference("shape", got, expected, path)
    if strict and got.dtype != expected.dtype:
        return Difference("dtype", got, expected, path)
    if (got.objects is None) != (expected.objects is None):
        return Difference("dtype", got, expected, path)
    if got.traced or (strict and got.partial and not expected.partial):
        return Difference("type", got, expected, path)
    if expected.objects is not None:
        return None if got.objects == expected.objects else Difference("numbers", got, expected, path)
    whole = expected.whole()
    right = {block.bounds: expected.numbers(block) for block in expected.blocks}
    scale = max(map(scale_of, right.values()), default=0.0)
    if strict and got.partial and {block.bounds for block in got.blocks} != right.keys():
        return Difference("placement", got, expected, path)
    for block in sorted(got.blocks, key=lambda block: block.bounds):  # the first difference, whatever the mesh's order
        inside = tuple(slice(a, b) for a, b in block.bounds)
        want = right.get(block.bounds) if whole is None else whole[inside]
        if want is None:
            return Difference("placement", got, expected, path)  # other blocks on this process
        mine = got.numbers(block)
        if (at := _first_apart(mine, want, tolerance, scale)) is not None:
            return Difference("numbers", got, expected, path, *_there(at, block, mine, want))
    return None


def _there(at: tuple[int, ...], block: Block, a: np.ndarray, b: np.ndarray) -> tuple[str, tuple[str, str]]:
    """Return the index in the whole array of a place in a block, or "", and the two numbers there."""
    index = [i + start for i, (start, _) in zip(at, block.bounds, strict=True)]
    numbers = ("", "") if a.dtype.kind in "SU" else (_written(a[at].item()), _written(b[at].item()))
    return str(index) if index else "", numbers


def _written(x: bool | int | float | complex) -> str:
    return f"{x:.6g}" if isinstance(x, float | complex) else str(x)


def scale_of(x: np.ndarray) -> float:
    """Return the largest absolute value among the finite numbers of a float array; 0 for integers."""
    if x.size == 0 or x.dtype.kind in "biuSUO":
        return 0.0
    x = np.abs(x.astype(np.complex128 if x.dtype.kind == "c" else np.float64))
    return float(np.max(x, where=np.isfinite(x), initial=0.0))


def slack(tolerance: float, *arrays: np.ndarray) -> float:
    """Return the relative tolerance, which is at least the precision of the narrowest float dtype."""
    narrow = [a.dtype for a in arrays if a.dtype.kind not in "biuSU" and "int" not in a.dtype.name]  # int4 is whole
    eps = [2.0**-7 if d.name == "bfloat16" or d.itemsize == 1 else 1e-3 if d.itemsize == 2 else 0.0 for d in narrow]
    return max(tolerance, *(4 * e for e in eps), 0.0)


def _first_apart(a: np.ndarray, b: np.ndarray, tolerance: float, scale: float) -> tuple[int, ...] | None:
    """Return the index of the first number that is not close; integers must be equal."""
    if a.dtype.kind in "biuSU" and b.dtype.kind in "biuSU":
        apart = a != b
    else:
        tolerance = slack(tolerance, a)
        wide = np.complex128 if "c" in (a.dtype.kind, b.dtype.kind) else np.float64
        apart = ~np.isclose(a.astype(wide), b.astype(wide), rtol=tolerance, atol=tolerance * scale, equal_nan=True)
    return tuple(int(i) for i in np.argwhere(apart)[0]) if np.any(apart) else None
