"""Values of another kind or in another arrangement than expected, and whole numbers: each function is one diagnosis."""

import re
from typing import Any

import numpy as np

from grader.judge.near_misses.pair import Saying, Setting, numbers, pair
from grader.see.compare import difference

KINDS = {"spec": "PartitionSpec", "mesh": "Mesh", "sharding": "Sharding", "device": "Device", "none": "None"}


def kind(x: Any) -> str:
    """The name of a packed value's type as a learner knows it."""
    if x["t"] == "array":
        return "jax.Array" if x["jax"] else "numpy.ndarray"
    return str(x["v"] if x["t"] in ("node", "other") else KINDS.get(x["t"], x["t"]))


def alike(got: Any, expected: Any, tolerance: float) -> bool:
    """Whether two packed values say the same, whatever holds the numbers."""
    if difference(got, expected, tolerance, strict=False) is None:
        return True
    both = pair([got], [expected], 0, tolerance, Setting(1))
    if both is not None:
        return both.like(both.got, both.expected)
    a, b = got.get("items"), expected.get("items")
    if a is None or b is None or len(a) != len(b) or "keys" in expected or "keys" in got:
        return False
    return all(alike(x, y, tolerance) for x, y in zip(a, b, strict=True))


def other_kind(got: Any, expected: Any, tolerance: float) -> Saying | None:
    """The right value as something else: a list, a text, an array, a number, a set."""
    if got["t"] == "other" and got.get("name"):
        return "function", {"name": got["name"]}
    if got["t"] == "node" or got.get("traced"):
        return None
    if (ids := _devices(got)) is not None and ids == (expected["v"] if expected["t"] == "int" else _integers(expected)):
        return "device-objects", {}
    kinds = {"got": kind(got), "expected": kind(expected)}
    if got["t"] == "array" and "parts" in got and "parts" not in expected:
        return "not-fetched", {}
    if kinds["got"] == kinds["expected"]:
        return None
    if got["t"] == "set" and expected.get("items") and alike(_sorted(got), _sorted(expected), tolerance):
        return "kind", kinds
    if got["t"] == "str" and expected["t"] in ("int", "float"):
        return ("text", kinds) if _as_float(got["v"]) == expected["v"] else None
    if alike(got, expected, tolerance):
        left = expected["t"] == "array" and expected["jax"] and got["t"] in ("int", "float", "bool")
        return ("left-devices" if left else "kind"), kinds
    if got["t"] in ("list", "tuple") and expected["t"] == "array":
        return _pieces(got, expected, tolerance)
    return None


def _pieces(got: Any, expected: Any, tolerance: float) -> Saying | None:
    """A list of what one array should hold."""
    parts = [numbers([item]) for item in got["items"]]
    both = pair([expected], [expected], 0, tolerance, Setting(1))
    if both is None or not parts or any(part is None for part in parts):
        return None
    for axis in range(both.expected.ndim):
        try:
            whole = np.concatenate([np.asarray(part) for part in parts], axis)
        except ValueError:
            continue
        if both.like(whole, both.expected):
            return "pieces", {"n": len(parts), "got": kind(got)}
    return None


def names(got: Any, expected: Any, tolerance: float) -> Saying | None:
    """Keys that are missing or too many; the right values under the wrong names, or without any."""
    if expected["t"] != "dict":
        return None
    if got["t"] in ("list", "tuple") and len(got["items"]) == len(expected["items"]):
        same = _matched(got["items"], expected["items"], tolerance)
        return ("without-names", {"got": kind(got)}) if same else None
    if got["t"] != "dict":
        return None
    mine, right = ([k.get("v") for k in x["keys"]] for x in (got, expected))
    missing, extra = [k for k in right if k not in mine], [k for k in mine if k not in right]
    if missing or extra:
        both = "keys" if missing and extra else "keys-missing" if missing else "keys-extra"
        return both, {"missing": _list(missing), "extra": _list(extra)}
    wrong = [k for k, a, b in zip(right, got["items"], expected["items"], strict=True) if difference(a, b, tolerance)]
    a, b = ([x["items"][right.index(k)] for k in wrong] for x in (got, expected))
    moved = not any(alike(x, y, tolerance) for x, y in zip(a, b, strict=True))  # or is it their types?
    return ("names-swapped", {"keys": _list(wrong)}) if len(wrong) > 1 and moved and _matched(a, b, tolerance) else None


def elements(got: Any, expected: Any, tolerance: float) -> Saying | None:
    """Of a sequence: in another order, too many, too few, one instead of several."""
    if not expected.get("items") or expected["t"] not in ("tuple", "list"):
        if got["t"] in ("tuple", "list") and 1 <= len(got["items"]) <= 4:
            at = [n for n, item in enumerate(got["items"]) if alike(item, expected, tolerance)]
            return ("one-of-mine", {"k": at[0], "got": kind(got)}) if at else None
        return None
    right = expected["items"]
    if got["t"] not in ("tuple", "list"):
        at = [n for n, item in enumerate(right) if len(right) > 1 and alike(got, item, tolerance)]
        return ("one-of-right", {"k": at[0], "n": len(right)}) if at else None
    mine = got["items"]
    if len(mine) == len(right):
        same = all(alike(a, b, tolerance) for a, b in zip(mine, right, strict=True))  # is it their types, then?
        return ("elements-order", {}) if len(mine) > 1 and not same and _matched(mine, right, tolerance) else None
    more, less = (mine, right) if len(mine) > len(right) else (right, mine)
    rest = list(more)
    for item in less:
        found = next((x for x in rest if alike(x, item, tolerance)), None)
        if found is None:
            return None
        rest.remove(found)
    if not less:
        return ("empty", {"got": kind(got)}) if less is mine else None
    key = "elements-more" if more is mine else "elements-less"
    return key + ("-one" if len(rest) == 1 else ""), {"k": len(rest)}


def numbers_of_one_kind(got: Any, expected: Any, tolerance: float) -> Saying | None:
    """The right numbers with another dtype."""
    if got["t"] != "array" or expected["t"] != "array" or got["shape"] != expected["shape"]:
        return None
    both = pair([got], [expected], 0, tolerance, Setting(1))
    if got["dtype"] != expected["dtype"] and both is not None and both.like(both.got, both.expected):
        a, b = np.dtype(got["dtype"]), np.dtype(expected["dtype"])
        size = "wider" if a.itemsize > b.itemsize else "narrower" if a.itemsize < b.itemsize else "other"
        key = f"dtype-{size}" if (a.kind in "iu") == (b.kind in "iu") and "b" not in (a.kind, b.kind) else "dtype-kind"
        return key, {"got": a.name, "expected": b.name}
    return None


def spelling(got: Any, expected: Any, tolerance: float) -> Saying | None:
    """The right text but for case, spaces and punctuation."""
    if got["t"] == expected["t"] == "str":
        mine, right = (re.sub(r"[\W_]", "", x["v"]).casefold() for x in (got, expected))
        return ("spelling", {"right": repr(expected["v"])}) if mine and mine == right else None
    return None


def layout(got: Any, expected: Any, tolerance: float) -> Saying | None:
    """A PartitionSpec with the right entries, but not in their places."""
    if got["t"] == expected["t"] == "spec":
        mine, right = ([e for e in x["v"] if e is not None] for x in (got, expected))
        if mine == right and got["v"][: len(expected["v"])] == expected["v"][: len(got["v"])]:
            return "spec-ends", {"n": len(expected["v"]), "got": len(got["v"])}
        if sorted(map(str, got["v"])) == sorted(map(str, expected["v"])):
            return "spec-order", {}
    return None


def leaves(x: Any, path: str = "") -> dict[str, Any]:
    """The leaves of a packed tree by path, spelled as in `Difference.path`."""
    if "items" not in x or x["t"] == "slice":
        return {path: x}
    keys = [k.get("v") for k in x.get("keys", [])] or list(range(len(x["items"])))
    found: dict[str, Any] = {}
    for key, item in zip(keys, x["items"], strict=True):
        found |= leaves(item, f"{path}[{key!r}]")
    return found


def part_at(x: Any, path: str) -> Any:
    """The part of a packed tree at a path, or None where there is none."""
    if not path or x is None:
        return x
    keys = [k.get("v") for k in x.get("keys", [])] or list(range(len(x.get("items", []))))
    for key, item in zip(keys, x.get("items", []), strict=True):
        if path.startswith(here := f"[{key!r}]"):
            return part_at(item, path[len(here) :])
    return None


def an_argument(got: Any, args: list[Any]) -> Saying | None:
    """What came back is an array that was given, unchanged."""
    if got["t"] == "array" and "data" in got and len(set(got["data"][:40])) > 3:
        for n, path, x in arrays_given(args):
            if (x["data"], x["shape"], x["dtype"]) == (got["data"], got["shape"], got["dtype"]):
                return "argument", {"n": n, "path": path}
    return None


def arrays_given(args: list[Any]) -> list[tuple[int, str, Any]]:
    """The small arrays among the arguments: which argument, where in it, the packed array."""
    return [
        (n, path, x)
        for n, arg in enumerate(args)
        for path, x in leaves(arg).items()
        if x["t"] == "array" and "data" in x
    ]


def only_some_leaves(got: Any, expected: Any, tolerance: float) -> Saying | None:
    """Which parts of a tree differ, where others are right."""
    mine, right = leaves(got), leaves(expected)
    if len(right) < 2 or mine.keys() != right.keys():
        return None
    wrong = [path for path in right if difference(mine[path], right[path], tolerance)]
    if not 0 < len(wrong) < len(right):
        return None
    return "some-parts" if len(wrong) > 1 else "one-part", {"parts": ", ".join(wrong[:4]), "n": len(right)}


def _matched(mine: list[Any], right: list[Any], tolerance: float) -> bool:
    """Whether these are the same values in any order."""
    rest = list(right)
    for item in mine:
        same = [k for k, other in enumerate(rest) if difference(item, other, tolerance, strict=False) is None]
        if not same:
            return False
        del rest[same[0]]
    return not rest


def _sorted(x: Any) -> Any:
    return x | {"t": "list", "items": sorted(x["items"], key=str)}


def _devices(x: Any) -> Any:
    if x["t"] == "device":
        return x["v"]
    return [i["v"] for i in x["items"]] if x.get("items") and all(i["t"] == "device" for i in x["items"]) else None


def _integers(x: Any) -> list[int] | None:
    return [i["v"] for i in x["items"]] if x.get("items") and all(i["t"] == "int" for i in x["items"]) else None


def _as_float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _list(keys: list[Any]) -> str:
    return ", ".join(map(repr, keys))
