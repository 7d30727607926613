"""Whether what a child says it saw has the form that `observe` and `pack` give it.

An answer can replace what looks at it, or write what it likes where the result is expected. What has not this form is
the answer's doing; what has it, and still cannot be judged, is a fault of ours.
"""

from typing import Any

from grader.exercise.spec import Spec
from grader.see.values import unpack
from minipod import forked

STATUSES = ("ok", "raised", "died", "closed", "garbled", "spoilt", "large", "printed", "hung", "left")
_NUMBER = (int, float)
_FIELDS: dict[str, dict[str, Any]] = {  # of a packed value, by its "t"
    "none": {},
    "bool": {"v": bool},
    "int": {"v": int},
    "float": {"v": _NUMBER},
    "complex": {"v": list},
    "str": {"v": str},
    "bytes": {"v": str},
    "array": {"jax": bool, "dtype": str, "shape": list},
    "spec": {"v": list},
    "mesh": {"axes": list, "ids": list},
    "sharding": {},
    "device": {"v": int},
    "struct": {"dtype": str, "shape": list},
    "dtype": {"v": str},
    "slice": {"items": list},
    "dict": {"keys": list, "items": list},
    "list": {"items": list},
    "tuple": {"items": list},
    "set": {"items": list},
    "node": {"v": str, "items": list},
    "other": {"v": str, "name": (str, type(None)), "repr": str},
}
_ERROR = {"type": str, "text": str, "own": list, "kind": str, "into": str}


def well_formed(spec: Spec, cases: int, result: forked.Result) -> bool:
    """Whether the result of a process is one of `observe.observe_file` on so many cases, or tells how it failed."""
    try:
        if result.status not in STATUSES or not isinstance(result.text, str) or not isinstance(result.seconds, _NUMBER):
            return False
        if result.status != "ok":
            return True
        if "load" in result.value:
            return _error(result.value["load"])
        seen = result.value["functions"].get(spec.name)
        return seen is None or (len(seen) == cases and all(_case(spec, case) for case in seen))
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        return False


def _case(spec: Spec, case: dict[str, Any]) -> bool:
    fine = _has(case, {"args": list, "printed": str}) and all(_value(arg, data=False) for arg in case["args"])
    if budget := case["budget"]:
        fine = fine and _has(budget, {"ops": list, "bytes": int, "along": dict})
    if "error" in case:
        return fine and _error(case["error"])
    if spec.how == "jit" and not isinstance(case.get("unreadable"), str):
        fine = fine and isinstance(case["total"], int | None) and isinstance(case["along"], dict)
        fine = fine and all(isinstance(v, int | None) for v in case["along"].values())
        fine = fine and all([type(v) for v in row[:2]] == [str, int] and len(row) == 3 for row in case["traffic"])
    return fine and case.get("host") in (None, "on-host", "piece-by-piece") and _value(case["value"])


def _error(error: dict[str, Any]) -> bool:
    lines = ([type(v) for v in line] for line in error["own"])
    return _has(error, _ERROR) and all(kinds in ([int, str], [type(None), str]) for kinds in lines)


def _value(x: dict[str, Any], data: bool = True) -> bool:
    """Whether x is what `pack` makes of a value; data: with the bytes of arrays."""
    kind = x["t"]
    if not _has(x, _FIELDS[kind]):
        return False
    if kind == "complex":
        return len(x["v"]) == 2 and all(isinstance(v, _NUMBER) for v in x["v"])
    if kind == "array":
        return _array(x, data)
    if kind == "struct":
        return _whole(x["shape"])
    if kind == "mesh":
        return all([type(v) for v in axis] == [str, int] for axis in x["axes"]) and _whole(x["ids"])
    if kind == "sharding":
        named = "spec" in x and x["mesh"]["t"] == "mesh" and _has(x, {"spec": list}) and _value(x["mesh"])
        return named or _has(x, {"devices": list, "v": str})
    inner = [*x.get("keys", []), *x.get("items", [])]
    return all(_value(v, data) for v in inner) and (kind != "dict" or len(x["keys"]) == len(x["items"]))


def _array(x: dict[str, Any], data: bool) -> bool:
    if not _whole(x["shape"]):
        return False
    if x.get("traced"):
        return True
    if x["jax"]:
        if not _has(x, {"count": int, "copies": bool, "where": list}) or not isinstance(x.get("spec", []), list):
            return False
        if not all(isinstance(device, int) and _block(block) for device, block in x["where"]):
            return False
    if "objects" in x:
        return all(map(_value, x["objects"]))
    parts = x.get("parts", [x])
    if not all(_block(part["block"]) for part in x.get("parts", [])):
        return False
    if not data and not all("data" in part for part in parts):
        return True
    return all(list(unpack(part).shape) == part["shape"] for part in parts)


def _block(block: Any) -> bool:
    return all(len(ends) == 2 and _whole(ends) for ends in block)


def _whole(numbers: Any) -> bool:
    return isinstance(numbers, list) and all(isinstance(n, int) for n in numbers)


def _has(x: dict[str, Any], fields: dict[str, Any]) -> bool:
    return all(isinstance(x[name], kind) for name, kind in fields.items())
