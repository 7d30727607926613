"""What the inputs on which an answer is wrong have in common, and those on which it is right have not.

Facts about arguments alone, from what was seen of them: sizes, which of them divide which, what a list holds.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, permutations

from grader.messages import Message
from grader.see import values
from grader.see.array_values import Array
from grader.see.values import Tree, Value

FEW, MOST = 3, 14  # different inputs on either side at least; sizes of one call that are compared
FEW_PAIRS = 3  # different pairs of two sizes, on either side: of those that there are, one parts a few shapes by chance
FEW_SIZES, SIZED = 4, ("zero", "one", "several", "odd", "even")  # the same of one size, on both sides together
SHARE = 0.6  # of the inputs on which it is right, those that a trait of all wrong ones has to leave out
Trait = tuple[str, tuple[object, ...]]  # a message, and what it is about, such as `n` and `len(parts)`
NAMES = ("a", "b")


def common(names: Sequence[str], wrong: Sequence[Sequence[Value]], right: Sequence[Sequence[Value]]) -> Message | None:
    """A trait of all calls that are wrong, and of none, or few, that are right; None where there is none.

    names: of the arguments. wrong, right: the arguments of each call. The first trait that parts them is said, the
    simplest before others; with fewer than FEW different calls on either side anything would part them.
    """
    calls = [list(dict.fromkeys(tuple(args) for args in side)) for side in (wrong, right)]
    if min(map(len, calls)) < FEW:
        return None
    seen = [[traits(dict(zip(names, args, strict=False))) for args in side] for side in calls]
    sized = [[_sizes(dict(zip(names, args, strict=False))) for args in side] for side in calls]
    shared = [trait for trait in seen[0][0] if all(call.get(trait) for call in seen[0]) and _backed(trait, sized)]
    left = {trait: sum(not call.get(trait) for call in seen[1]) for trait in shared}
    best = max(shared, key=lambda trait: left[trait], default=None)  # the first of those that leave out most
    among, n = len(calls[1]), len(calls[0]) + len(calls[1])
    if best is None or left[best] < SHARE * among:
        return None
    key, about = best
    said = Message(f"trait-{key}", dict(zip(NAMES, about, strict=False)))
    counts = {"wrong": len(calls[0]), "n": n, "has": n - left[best]}
    return Message("trait" if left[best] == among else "trait-among", {**counts, "trait": said})


def _sizes(arguments: Mapping[str, Value]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, value in arguments.items():
        for _ in _of(name, value, found):
            pass
    return found


def _backed(trait: Trait, sized: Sequence[Sequence[Mapping[str, int]]]) -> bool:
    """Whether a trait of one or two sizes was seen with enough different ones, and each call has them."""
    key, about = trait
    if key in SIZED and any(about[0] in call for side in sized for call in side):
        there = {call.get(str(about[0])) for side in sized for call in side}
        return len(there) >= FEW_SIZES and None not in there
    if key == "text" or len(about) == 1:
        return True
    pairs = [{tuple(call.get(str(name)) for name in about) for call in side} for side in sized]
    return min(map(len, pairs)) >= FEW_PAIRS and not any(None in pair for side in pairs for pair in side)


def traits(arguments: Mapping[str, Value]) -> dict[Trait, bool]:
    """What can be said of one call, simple things first, each with whether it holds."""
    sizes: dict[str, int] = {}
    found: dict[Trait, bool] = {}
    for name, value in arguments.items():
        for key, about, holds in _of(name, value, sizes):
            found[key, about] = holds
    few = dict(list(sizes.items())[:MOST])
    for name, size in few.items():
        found |= {("zero", (name,)): size == 0, ("one", (name,)): size == 1, ("several", (name,)): size > 1}
    several = [(one, other) for one, other in permutations(few.items(), 2) if _array(one[0]) != _array(other[0])]
    for (a, m), (b, n) in several:
        if n > 0:
            found |= {("no-multiple", (a, b)): m % n != 0, ("multiple", (a, b)): m % n == 0}
    for (a, m), (b, n) in several:
        found |= {("less", (a, b)): m < n, ("at-least", (a, b)): m >= n}
        if a < b:
            found |= {("equal", (a, b)): m == n, ("unequal", (a, b)): m != n}
    for name, size in few.items():
        found |= {("odd", (name,)): size % 2 == 1, ("even", (name,)): size % 2 == 0}
    return found


def _array(size: str) -> str:
    """The array whose dimension a size is; for any other size itself. How one dimension is to the next says little."""
    name, _, rest = size.partition(".shape[")
    return name if rest and not rest.startswith('"') else size


Said = Iterator[tuple[str, tuple[object, ...], bool]]


def _of(name: str, value: Value, sizes: dict[str, int], deep: int = 2) -> Said:
    """Traits of one argument by itself; what in it is a size is added to `sizes`."""
    if isinstance(value, values.Bool):
        yield "true", (name,), value.number
        yield "false", (name,), not value.number
    elif isinstance(value, values.Int):
        sizes[name] = value.number
    elif isinstance(value, values.Float):
        yield "zero", (name,), value.number == 0
        yield "negative", (name,), value.number < 0
    elif isinstance(value, values.Text):
        yield "text", (name, value.text), True
    elif isinstance(value, (Array, values.Struct)):
        sizes |= {f"{name}.shape[{i}]": n for i, n in enumerate(value.shape)}
        if isinstance(value, Array) and value.has_numbers and (numbers := value.whole()) is not None:
            if numbers.dtype.kind in "iufb":
                yield from _numbers(name, numbers.ravel().tolist(), numbers.ndim == 1)
    elif isinstance(value, values.Mesh):
        sizes |= {f'{name}.shape["{axis}"]': n for axis, n in value.axes}
        if len(value.axes) > 1:
            sizes[f"{name}.size"] = len(value.ids)
    elif isinstance(value, values.Spec):
        yield "joint", (name,), any(isinstance(entry, tuple) for entry in value.entries)
        yield "uncut", (name,), None in value.entries
    elif isinstance(value, values.Dict) and deep:
        sizes[f"len({name})"] = len(value.items)
        for key, item in zip(value.keys, value.items, strict=True):
            if isinstance(key, values.Text):
                yield from _of(f'{name}["{key.text}"]', item, sizes, deep - 1)
    elif isinstance(value, (values.List, values.Tuple)):
        yield from _list(name, value, sizes)


def _list(name: str, value: Tree, sizes: dict[str, int]) -> Said:
    items = value.items
    if isinstance(value, values.Tuple) and len(items) <= 4 and all(isinstance(x, values.Int) for x in items):
        sizes |= {f"{name}[{i}]": x.number for i, x in enumerate(items) if isinstance(x, values.Int)}
        return
    sizes[f"len({name})"] = len(items)
    yield "none", (name,), any(isinstance(x, values.Nothing) for x in items)
    numbers = [x.number for x in items if isinstance(x, (values.Int, values.Float))]
    if items and len(numbers) == len(items):
        yield from _numbers(name, numbers, True)
    elif items and all(isinstance(x, values.Text) for x in items):
        yield "twice", (name,), len(set(items)) < len(items)
    lengths = [_length(x) for x in items]
    if items and None not in lengths:
        yield "lengths", (name,), len(set(lengths)) > 1
        yield "same-lengths", (name,), len(set(lengths)) == 1
        yield "empty", (name,), 0 in lengths
        parts = [x.items for x in items if isinstance(x, (values.List, values.Tuple))]
        yield "prefix", (name,), any(a == b[: len(a)] for a, b in permutations(parts, 2) if len(a) < len(b))


def _length(x: Value) -> int | None:
    if isinstance(x, (values.List, values.Tuple)):
        return len(x.items)
    return x.shape[0] if isinstance(x, Array) and x.shape else None


def _numbers(name: str, numbers: list[float], in_order: bool) -> Said:
    """Of a list of numbers, or of an array's."""
    yield "negatives", (name,), any(n < 0 for n in numbers)
    yield "zeros", (name,), any(n == 0 for n in numbers)
    yield "all-zero", (name,), all(n == 0 for n in numbers)
    if in_order:
        yield "twice", (name,), len(set(numbers)) < len(numbers)
        yield "once", (name,), len(set(numbers)) == len(numbers)
        yield "falls", (name,), any(a > b for a, b in pairwise(numbers))
        yield "rises", (name,), all(a <= b for a, b in pairwise(numbers))
