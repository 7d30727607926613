"""Diagnose values of an unexpected type or arrangement, and whole numbers: each function gives one diagnosis."""

import re
from collections.abc import Sequence

from grader.judge.compare import difference
from grader.judge.near_misses.pair import Setting, pair
from grader.messages import Message
from grader.see.array_values import Array
from grader.see.values import (
    Device,
    Dict,
    Int,
    List,
    Node,
    Nothing,
    Set,
    Spec,
    Text,
    Tree,
    Tuple,
    Value,
    leaves,
)


def alike(got: Value, expected: Value, tolerance: float) -> bool:
    """Return whether two packed values have the same content, whatever types hold the numbers."""
    if difference(got, expected, tolerance, strict=False) is None:
        return True
    both = pair([got], [expected], 0, tolerance, Setting(1))
    if both is not None:
        return both.like(both.got, both.expected)
    if not (isinstance(got, Tree) and isinstance(expected, Tree)):
        return False
    if isinstance(got, Dict) or isinstance(expected, Dict):
        return False
    a, b = got.items, expected.items
    return len(a) == len(b) and all(alike(x, y, tolerance) for x, y in zip(a, b, strict=True))


def other_kind(got: Value, expected: Value, tolerance: float) -> Message | None:
    """Diagnose the right value in a different type: a list, an array, a number, a set."""
    if isinstance(got, Node) or (isinstance(got, Array) and got.traced):
        return None
    if (ids := _devices(got)) is not None and ids == _integers(expected):
        return Message("device-objects")
    if isinstance(got, Array) and got.partial and not isinstance(expected, Nothing):
        if not (isinstance(expected, Array) and expected.partial):
            return Message("not-fetched")
    if got.kind == expected.kind:
        return None
    if isinstance(got, Set) and isinstance(expected, Tree) and expected.items:
        same = alike(_sorted(got), _sorted(expected), tolerance)
    else:
        same = alike(got, expected, tolerance)
    return Message("kind", {"got": got.kind, "expected": expected.kind}) if same else None


def names(got: Value, expected: Value, tolerance: float) -> Message | None:
    """Diagnose missing or unexpected keys, and right values under wrong names or without names."""
    if not isinstance(expected, Dict):
        return None
    if isinstance(got, List | Tuple) and len(got.items) == len(expected.items):
        same = _matched(got.items, expected.items, tolerance)
        return Message("without-names", {"got": got.kind}) if same else None
    if not isinstance(got, Dict):
        return None
    mine, right = got.labels, expected.labels
    missing, extra = [k for k in right if k not in mine], [k for k in mine if k not in right]
    if missing or extra:
        return _missing_and_extra(missing, extra)
    got = got.in_order_of(expected) or got
    wrong = [k for k, a, b in zip(right, got.items, expected.items, strict=True) if difference(a, b, tolerance)]
    a, b = ([x.items[right.index(k)] for k in wrong] for x in (got, expected))
    moved = not any(alike(x, y, tolerance) for x, y in zip(a, b, strict=True))  # or is it their types?
    swapped = len(wrong) > 1 and moved and _matched(a, b, tolerance)
    return Message("names-swapped", {"keys": _few(wrong)}) if swapped else None


def elements(got: Value, expected: Value, tolerance: float) -> Message | None:
    """Diagnose a sequence in a different order, with extra elements, or with one element instead of several."""
    if not (isinstance(expected, List | Tuple) and expected.items):
        return None
    right = expected.items
    if not isinstance(got, List | Tuple):
        at = [n for n, item in enumerate(right) if len(right) > 1 and alike(got, item, tolerance)]
        return Message("one-of-right", {"k": at[0], "n": len(right)}) if at else None
    mine = got.items
    if len(mine) == len(right):
        same = all(alike(a, b, tolerance) for a, b in zip(mine, right, strict=True))  # is it their types, then?
        moved = len(mine) > 1 and not same and _matched(mine, right, tolerance)
        return Message("elements-order") if moved else None
    if len(mine) > len(right) and _in_order(right, mine, tolerance):
        return Message("elements-more", {"k": len(mine) - len(right)})
    return None


def _in_order(less: Sequence[Value], more: Sequence[Value], tolerance: float) -> bool:
    """Return whether `less` is `more` in the same order without some elements."""
    rest = iter(more)
    return all(any(alike(x, item, tolerance) for x in rest) for item in less)


def others_right(got: Value, expected: Value, path: str, tolerance: float) -> bool:
    """Return whether everything in a tree is right except the part at this path."""
    mine, right = (
        {place: x for place, x in leaves(whole).items() if not place.startswith(path)} for whole in (got, expected)
    )
    return mine.keys() == right.keys() and not any(difference(mine[place], right[place], tolerance) for place in right)


def other_ids(got: Value, expected: Value) -> Message | None:
    """Diagnose a list of ids: those that are missing, and those that do not belong to it."""
    if not (isinstance(got, List | Tuple) and isinstance(expected, List | Tuple) and got.items and expected.items):
        return None
    if not all(isinstance(x, Int) for x in (*got.items, *expected.items)):
        return None
    if isinstance(expected, Tuple) and len(got.items) == len(expected.items):
        return None  # each place has a meaning of its own
    mine, right = ({x.number for x in y.items if isinstance(x, Int)} for y in (got, expected))
    return _missing_and_extra(sorted(right - mine), sorted(mine - right))


def _missing_and_extra(missing: Sequence[object], extra: Sequence[object]) -> Message | None:
    """Return which keys or ids are missing, and which do not belong there."""
    if missing and extra:
        return Message("missing-and-extra", {"missing": _few(missing), "extra": _few(extra)})
    if missing:
        return Message("missing", {"missing": _few(missing)})
    return Message("extra", {"extra": _few(extra)}) if extra else None


MOST_NAMES, MOST_SHAPES = 12, 6  # that are written out


def _few(names: Sequence[object]) -> tuple[str, ...]:
    shown = (*map(repr, names[:MOST_NAMES]),)
    return shown if len(names) <= MOST_NAMES else (*shown, f"… ({len(names)})")


def dtype(got: Value, expected: Value, tolerance: float) -> Message | None:
    """Diagnose the right numbers with a different dtype."""
    if not (isinstance(got, Array) and isinstance(expected, Array)) or got.shape != expected.shape:
        return None
    both = pair([got], [expected], 0, tolerance, Setting(1))
    if got.dtype == expected.dtype or both is None or not both.like(both.got, both.expected):
        return None
    return Message("dtype", {"got": got.dtype, "expected": expected.dtype})


def spelling(got: Value, expected: Value, tolerance: float) -> Message | None:
    """Diagnose a text that is right except for case, spaces and punctuation."""
    if isinstance(got, Text) and isinstance(expected, Text):
        mine, right = (re.sub(r"[\W_]", "", x.text).casefold() for x in (got, expected))
        return Message("spelling", {"right": repr(expected.text)}) if mine and mine == right else None
    return None


def layout(got: Value, expected: Value, tolerance: float) -> Message | None:
    """Diagnose a PartitionSpec with the same meaning but more or fewer entries."""
    if not (isinstance(got, Spec) and isinstance(expected, Spec)):
        return None
    mine, right = got.entries, expected.entries
    shorter = min(len(mine), len(right))
    if mine[:shorter] == right[:shorter] and not any((*mine[shorter:], *right[shorter:])):
        return Message("spec-ends", {"n": len(right), "got": len(mine)})
    return None


def part_at(x: Value | None, path: str) -> Value | None:
    """Return the part of a tree at a path, or None if there is none."""
    if not path or x is None:
        return x
    for label, item in zip(x.labels, x.items, strict=True) if isinstance(x, Tree) else ():
        if path.startswith(here := f"[{label!r}]"):
            return part_at(item, path[len(here) :])
    return None


def an_argument(got: Value, args: Sequence[Value]) -> Message | None:
    """Diagnose a result that is an unchanged argument."""
    if isinstance(got, Array) and got.whole() is not None and len(set((got.blocks[0].base64 or "")[:40])) > 3:
        for n, path, x in arrays_given(args):
            if (x.blocks, x.dtype) == (got.blocks, got.dtype):
                return Message("argument", {"n": n, "path": path})
    return None


def arrays_given(args: Sequence[Value]) -> list[tuple[int, str, Array]]:
    """Return the small arrays among the arguments: (argument, place in it, array)."""
    return [
        (n, path, x)
        for n, arg in enumerate(args)
        for path, x in leaves(arg).items()
        if isinstance(x, Array) and x.has_numbers and not x.partial
    ]


def shapes_of_leaves(got: Value, expected: Value) -> Message | None:
    """Diagnose a tree in which several arrays have the wrong shape; show both shapes of each."""
    mine, right = leaves(got), leaves(expected)
    if mine.keys() != right.keys():
        return None
    wrong = [
        f"`{path}` {list(a.shape)} ≠ {list(b.shape)}"
        for path, b in right.items()
        if isinstance(a := mine[path], Array) and isinstance(b, Array) and a.shape != b.shape
    ]
    named = (*wrong,) if len(wrong) <= MOST_SHAPES else (*wrong[:MOST_SHAPES], "…")
    return Message("shapes", {"parts": named}) if len(wrong) > 1 else None


def only_some_leaves(got: Value, expected: Value, tolerance: float) -> Message | None:
    """Diagnose the parts of a tree that differ while others are right."""
    mine, right = leaves(got), leaves(expected)
    if len(right) < 2 or mine.keys() != right.keys():
        return None
    wrong = [path for path in right if difference(mine[path], right[path], tolerance)]
    if not 0 < len(wrong) < len(right):
        return None
    named = (*wrong,) if len(wrong) < 6 else (*wrong[:4], "…")
    return Message("some-parts" if len(wrong) > 1 else "one-part", {"parts": named})


def _matched(mine: Sequence[Value], right: Sequence[Value], tolerance: float) -> bool:
    """Return whether these are the same values in any order."""
    rest = list(right)
    for item in mine:
        same = [k for k, other in enumerate(rest) if difference(item, other, tolerance, strict=False) is None]
        if not same:
            return False
        del rest[same[0]]
    return not rest


def _sorted(x: Tree) -> List:
    return List(tuple(sorted(x.items, key=str)))


def _devices(x: Value) -> int | list[int] | None:
    """Return the number of a device, or those of several."""
    if isinstance(x, Device):
        return x.id
    items = x.items if isinstance(x, Tree) else ()
    ids = [item.id for item in items if isinstance(item, Device)]
    return ids if ids and len(ids) == len(items) else None


def _integers(x: Value) -> int | list[int] | None:
    if isinstance(x, Int):
        return x.number
    items = x.items if isinstance(x, Tree) else ()
    numbers = [item.number for item in items if isinstance(item, Int)]
    return numbers if numbers and len(numbers) == len(items) else None
