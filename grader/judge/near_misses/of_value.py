"""Diagnose a wrong value: try one diagnosis after another, from certain to likely."""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from grader.exercise.spec import Spec
from grader.judge.compare import Difference, difference
from grader.judge.near_misses import numbers, per_process, shapes, trees
from grader.judge.near_misses.pair import Pair, Setting, pair
from grader.judge.verdict import Seen
from grader.messages import Message
from grader.see.array_values import Array
from grader.see.observation import Observation
from grader.see.values import Bool, Dict, Float, Int, Mesh, Nothing, Tree, Tuple, Value, leaves

Both = tuple[Value, Value]  # what came back, what was expected
SURE = {"not-finite", "not-finite-only", "not-finite-all"}  # of one number in one case
AMOUNTS = ("data", "count", "bytes", "seconds")  # which can be twice as large
# Of one number these mean something when they are the same for several inputs.
SAME_NUMBER = {"times", "function-missing", "function-extra"}
LOOKS = (trees.other_kind, trees.names, trees.elements, trees.dtype, trees.spelling, trees.layout)


@dataclass(frozen=True)
class Wrong:
    """A wrong value in one process and one case, with all other values. difference: its first difference."""

    spec: Spec
    answers: Seen
    right: Seen
    place: int
    case: int
    difference: Difference

    @property
    def tolerance(self) -> float:
        return self.spec.tolerance

    @property
    def whole(self) -> tuple[Value | None, Value | None]:
        """Return the whole result and the whole expected value."""
        return self.answers[self.place][self.case].value, self.right[self.place][self.case].value

    @property
    def part(self) -> Both:
        """Return the first differing part of the result and of the expected value."""
        return self.difference.got, self.difference.expected

    @property
    def row(self) -> Both:
        """Return the list of texts or numbers that contains the part, or else the part itself."""
        return self.difference.inside[1:] if self.difference.inside else self.part

    @functools.cached_property
    def parts(self) -> list[Both]:
        """Return the whole, the row and the part, without repetitions."""
        pairs = [self.row, self.part] if self.difference.inside else [self.part]
        got, expected = self.whole
        if self.difference.path and got and expected and self.row != (got, expected):
            pairs.insert(0, (got, expected))
        return pairs

    @functools.cached_property
    def alone(self) -> bool:
        """Return whether nothing but the row is wrong."""
        got, expected = self.whole
        at = self.difference.inside[0] if self.difference.inside else self.difference.path
        return got is None or expected is None or trees.others_right(got, expected, at, self.tolerance)

    @property
    def _speaks_for_row(self) -> bool:
        """Return whether the row of the part, if any, is right except for the part, or differs by the same number."""
        if not self.difference.inside:
            return True
        _, got, expected = self.difference.inside
        assert isinstance(got, Tree) and isinstance(expected, Tree)
        both = zip(got.items, expected.items, strict=True)
        wrong = [(a, b) for a, b in both if difference(a, b, self.tolerance)]
        by = [a.number - b.number if isinstance(a, Int) and isinstance(b, Int) else None for a, b in wrong]
        return len(wrong) == 1 or (None not in by and len(set(by)) == 1)

    @property
    def everywhere(self) -> tuple[list[Observation], list[Observation]]:
        """Return what every process returned in this case, and what it should have returned."""
        return [p[self.case] for p in self.answers], [p[self.case] for p in self.right]

    @functools.cached_property
    def pairs(self) -> list[tuple[str, list[Pair]]]:
        """Return (meaning of the numbers, pairs of arrays), from the outside in; empty without numbers."""
        # A number of a row is shown with the row: of that it must not be said where others in it are wrong, too.
        paths = [self.difference.path] if self._speaks_for_row else []
        if self.difference.inside and self.difference.inside[0] and _all_numbers(self.row[1]):
            paths.insert(0, self.difference.inside[0])
        if self.difference.path and _all_numbers(self.parts[0][1]):
            paths.insert(0, "")
        shown = self.place, self.case
        pairs = [(self.spec.meaning(path), _pairs(self.spec, self.answers, self.right, shown, path)) for path in paths]
        return [(meaning, several) for meaning, several in pairs if meaning and several]


def _of_another_process(wrong: Wrong) -> Message | None:
    return per_process.of_another(*wrong.everywhere, wrong.difference.path, wrong.place, wrong.tolerance)


def _other_ids(wrong: Wrong) -> Message | None:
    return trees.other_ids(*wrong.row) if wrong.spec.meaning(wrong.difference.path) == "id" else None


def _in_tree(wrong: Wrong) -> Message | None:
    for got, expected in wrong.parts:
        for look in LOOKS:
            message = look(got, expected, wrong.tolerance)
            if message and (message.key != "elements-order" or _order_says(wrong, got, expected)):
                return message
    return None


def _order_says(wrong: Wrong, got: Value, expected: Value) -> bool:
    """Return whether it helps to say that only the order of the elements is wrong. It does not for a part if other
    parts are wrong, too, nor for indices that occur several times, whose order is all that they say."""
    if (got, expected) != wrong.row:
        return True
    path = wrong.difference.inside[0] if wrong.difference.inside else wrong.difference.path
    repeated = isinstance(expected, Tree) and len(set(map(str, expected.items))) < len(expected.items)
    return wrong.alone and not (repeated and wrong.spec.meaning(path) == "index")


def _an_argument(wrong: Wrong) -> Message | None:
    return trees.an_argument(wrong.difference.got, wrong.answers[wrong.place][wrong.case].args)


def _strongly(wrong: Wrong) -> Message | None:
    looks = ((_strong(m) if several[0].one_shape else shapes.STRONG, several) for m, several in wrong.pairs)
    return next(filter(None, (first_that_holds(*look) for look in looks)), None)


def _multiple(wrong: Wrong) -> Message | None:
    return next(filter(None, (multiple(several) for means, several in wrong.pairs if means in AMOUNTS)), None)


def _some_leaves(wrong: Wrong) -> Message | None:
    return trees.only_some_leaves(*wrong.parts[0], wrong.tolerance) if wrong.difference.path else None


def _shapes(wrong: Wrong) -> Message | None:
    return trees.shapes_of_leaves(*wrong.parts[0]) if wrong.difference.path else None


def _weakly(wrong: Wrong) -> Message | None:
    looks = ((numbers.WEAK if several[0].one_shape else shapes.WEAK, several) for _, several in wrong.pairs)
    return next(filter(None, (first_that_holds(*look) for look in looks)), None)


def _apart(wrong: Wrong) -> Message | None:
    return per_process.apart(*wrong.everywhere, wrong.difference.path, wrong.tolerance)


def _other_kind(wrong: Wrong) -> Message | None:
    got, expected = wrong.part
    if got.kind == expected.kind or isinstance(got, Nothing) or isinstance(expected, Nothing):
        return None  # of None it is said already
    return Message("other-kind", {"got": got.kind, "expected": expected.kind})


# In the tree, in the numbers, then how much of them.
_LOOKS = (
    _of_another_process, _other_ids, _in_tree, _an_argument,
    _strongly, _multiple, _weakly, _some_leaves, _shapes, _apart, _other_kind,
)  # fmt: skip


def of_value(wrong: Wrong) -> Message | None:
    """Return the first diagnosis of a wrong value."""
    return next(filter(None, (look(wrong) for look in _LOOKS)), None)


def _strong(meaning: str) -> Sequence[Callable[[Pair], Message | None]]:
    """Return the diagnoses that make sense for numbers with this meaning."""
    if meaning in ("id", "label"):
        return numbers.OF_IDS
    if meaning == "index":
        return numbers.OF_INDICES
    return numbers.STRONG if meaning == "data" else numbers.OF_AMOUNTS


def first_that_holds(diagnoses: Sequence[Callable[[Pair], Message | None]], pairs: list[Pair]) -> Message | None:
    """Return the first diagnosis that is true of every pair; NaN and infinities need to be in the first pair only.

    A diagnosis that is true only of the case that is shown is an accident, due to a dimension of size 1 or equal sizes.
    """
    sure = None
    single = max(p.expected.size for p in pairs) == 1
    for diagnose in diagnoses:
        first = diagnose(pairs[0])
        if first is None:
            continue
        telling = [p for p in pairs[1:] if diagnose is not shapes.stacked or not shapes.is_stack_of_one(p)]
        others = [diagnose(p) if p.one_shape == pairs[0].one_shape else None for p in telling]
        if all(other is not None and other.key == first.key for other in others):
            if not single or _tells([first, *others], pairs):
                return first
        elif diagnose is numbers.factor and not single and all(map(numbers.factor_of, pairs)):
            return Message("times", {"c": numbers.ratio(numbers.factor_of(pairs[0]) or 1.0, pairs[0].tolerance)})
        elif sure is None and first.key in SURE:
            sure = first
    return sure


def _tells(messages: list[Message | None], pairs: list[Pair]) -> bool:
    """Return whether it is more than an accident that this is true of single numbers."""
    first = messages[0]
    assert first is not None
    different = len({p.expected.tobytes() for p in pairs}) > 1
    if first.key in ("one-more", "one-less") and not different:
        return False  # another small number, by chance the next one
    if not different and _by_chance(first, pairs[0]):
        return False
    return first.key not in SAME_NUMBER or (different and all(other == first for other in messages))


SMALL = 64  # a whole number up to here may be n times another by accident


def _by_chance(message: Message, p: Pair) -> bool:
    """Return whether a small number is a multiple or a fraction of the right one, which may be by chance."""
    return message.key.startswith(("times", "part-")) and p.whole and bool((np.abs(p.expected) <= SMALL).all())


def multiple(pairs: list[Pair]) -> Message | None:
    """Diagnose single numbers that are a multiple or a fraction of the right ones, by a different factor each time."""
    if len(pairs) < 2 or any(p.expected.size != 1 or p.got.size != 1 for p in pairs):
        return None
    both = [(p.got.item(), p.expected.item()) for p in pairs]
    if len(set(both)) < 2 or not all(_has_ratio(a, b) for a, b in both):
        return None
    if all(p.whole and 1 in map(abs, two) for p, two in zip(pairs, both, strict=True)):
        return None  # 1 divides every number
    near = max(p.tolerance for p in pairs)
    ratios = [a / b for a, b in both]
    if not any(isinstance(r, complex) for r in ratios) and np.ptp(ratios) <= near * abs(ratios[0]):
        return _one_factor(ratios[0], near, pairs)
    for key, times in (("multiple", ratios), ("fraction", [1 / r for r in ratios])):
        if all(_is_small_whole(t, near) for t in times):
            return Message(key, {"n": round(np.real(times[0]))})
    return None


def _has_ratio(a: complex, b: complex) -> bool:
    return a != 0 and b != 0 and a != b and bool(np.isfinite([a, b]).all())


def _is_small_whole(times: complex, near: float) -> bool:
    return 1.5 < np.real(times) <= SMALL and abs(times - round(np.real(times))) <= near * abs(times)


def _one_factor(ratio: float, near: float, pairs: list[Pair]) -> Message | None:
    """Return the meaning of the factor if it is the same for every number of devices, else its value."""
    meanings = [numbers.meaning_of_factor(ratio, p) for p in {p.setting.devices: p for p in pairs}.values()]
    if all(one and meanings[0] and one.key == meanings[0].key for one in meanings):
        return meanings[0]
    return Message("times", {"c": numbers.ratio(ratio, near)})


def setting_of(spec: Spec, args: tuple[Value, ...], expected: Value | None) -> Setting:
    """Return the number of devices of a case: those of the expected array, the mesh or the arguments.

    If none of them tells, it is the number that JAX has, or 1 if there is no array: then the numbers may be about
    devices that do not exist.
    """
    given = leaves(Tuple(args)).values()
    right = leaves(expected).values() if expected else ()
    meshes = [dict(x.axes) for x in given if isinstance(x, Mesh)]
    counts = [x.count for x in right if isinstance(x, Array)] + [math.prod(m.values()) for m in meshes]
    counts += [x.count for x in given if isinstance(x, Array)]
    arrays = spec.processes > 1 or any(isinstance(x, Array) for x in (*given, *right))
    devices = next((c for c in counts if c > 1), spec.devices * spec.processes if arrays else 1)
    small = tuple((n, path, x) for n, path, part in trees.arrays_given(args) if (x := part.whole()) is not None)
    return Setting(devices, spec.processes, meshes[0] if meshes else {}, small)


def _pairs(spec: Spec, answers: Seen, right: Seen, shown: tuple[int, int], path: str) -> list[Pair]:
    """Return the wrong cases at one place of the tree as arrays, the shown case first; empty without numbers."""
    pairs = []
    every = [(i, n) for n in range(len(answers[0])) for i in range(len(answers))]
    for i, n in sorted(every, key=lambda c: c != shown):
        mine, its = ([trees.part_at(p[n].value, path) for p in x] for x in (answers, right))
        got, expected = mine[i], its[i]
        if got is None or expected is None:
            continue
        if (i, n) == shown or difference(got, expected, spec.tolerance):
            both = pair(mine, its, i, spec.tolerance, setting_of(spec, answers[i][n].args, right[i][n].value))
            if both is not None and both.like(both.got, both.expected):
                both = None  # what is wrong is not the numbers
            if both is not None and both.expected.size and both.got.size:
                pairs.append(both)
            elif (i, n) == shown:
                return []
    return pairs


def _all_numbers(x: Value) -> bool:
    if not isinstance(x, Tree) or isinstance(x, Dict):
        return False
    return bool(x.items) and all(isinstance(item, Int | Float | Bool) for item in x.items)
