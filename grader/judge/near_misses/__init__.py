"""What a wrong answer nearly is, when no known mistake explains it: one sentence's worth, or nothing.

Computed from what was seen of the answer and the solution, over all cases: a diagnosis that holds for all that are
wrong comes before one that holds only for the case that is shown.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from grader.exercise.spec import Spec
from grader.exercise.statements import functions
from grader.judge.compare import Difference, PrintedDifference, difference
from grader.judge.near_misses import changes, numbers, per_process, shapes, trees
from grader.judge.near_misses import placements as places
from grader.judge.near_misses import raised as errors
from grader.judge.near_misses.pair import Pair, Setting, pair
from grader.judge.verdict import Seen, Verdict
from grader.messages import Message
from grader.see.array_values import Array, size
from grader.see.observation import Traffic
from grader.see.values import Bool, Dict, Float, Int, Mesh, Nothing, Text, Tree, Tuple, Value, leaves

SURE = {"not-finite", "not-finite-only", "not-finite-all"}  # of one number in one case
AMOUNTS = ("data", "count", "bytes", "seconds")  # which can be twice as large
SAME_NUMBER = {
    "times",
    "more",
    "less",
    "function-missing",
    "function-extra",
}  # of one number they mean something when they are the same for several inputs

LOOKS = (
    trees.other_kind,
    trees.names,
    trees.elements,
    trees.numbers_of_one_kind,
    trees.spelling,
    trees.layout,
)


def near_miss(spec: Spec, verdict: Verdict, right: Seen, answer: Seen) -> Message | None:
    """The diagnosis of a wrong answer, or None. `verdict`, `right` and `answer` as in `verdict.judge`.

    An error is explained, too, where it is one of the usual ones.
    """
    if verdict.reason == "crashed":
        if spec.processes > 1 and verdict.signal == "SIGABRT":
            return Message("crashed-together")
        return Message("donated-crash") if verdict.signal == "SIGSEGV" else None
    if verdict.reason in ("raised", "load") and (failure := verdict.failure):
        if failure.own and failure.own[-1][1].strip().startswith("raise "):
            return Message("raised-itself")
        said = errors.explained(failure.type, failure.text)
        if said and said.key == "error-zero" and verdict.args is not None:
            return errors.by_zero(verdict.args, _parameters(spec))
        return said
    if verdict.case is None or verdict.reason not in ("differs", "budget"):
        return None
    place, n = verdict.process or 0, verdict.case
    case, solution = answer[place][n], right[place][n]
    setting = setting_of(spec, case.args, solution.value)
    if verdict.reason == "budget":
        assert isinstance(case.traffic, Traffic) and isinstance(solution.traffic, Traffic) and case.budget
        return places.budget(case.traffic, case.budget, solution.traffic, setting.devices)
    found = verdict.difference
    if isinstance(found, PrintedDifference):
        return places.printed([p[n].printed for p in answer], [p[n].printed for p in right], place)
    assert found is not None
    if said := changes.kept([c.value for c in answer[place]], [c.value for c in right[place]], spec.tolerance):
        return said
    if found.kind == "placement" and found.device is not None:
        return places.placement(found.got, found.expected)
    if found.kind == "placement" and _same_numbers(answer, right, place, n, found):
        return places.placement(found.got, found.expected)
    with np.errstate(all="ignore"):
        said = _of_value(spec, answer, right, place, n, found)
    return said or _some_cases(spec, answer, right)


def _parameters(spec: Spec) -> list[str]:
    """How the exercise's statement calls its arguments; empty where it cannot be read."""
    try:
        node = functions(spec.folder / "exercises.py").get(spec.name)
    except (OSError, SyntaxError):
        return []
    return [arg.arg for arg in node.args.args] if node else []


def _same_numbers(seen: Seen, right: Seen, place: int, n: int, found: Difference) -> bool:
    mine, its = ([trees.part_at(p[n].value, found.path) for p in x] for x in (seen, right))
    both = pair(mine, its, place, 0.0, Setting(1))
    return both is not None and both.like(both.got, both.expected)


def _of_value(spec: Spec, seen: Seen, right: Seen, place: int, n: int, found: Difference) -> Message | None:
    """In the tree, in the numbers, then how much of them."""
    tolerance = spec.tolerance
    here = [(found.got, found.expected)]
    means = spec.meaning(found.path)
    got, expected = seen[place][n].value, right[place][n].value
    row = here[0]  # or the list that it stands in
    if found.inside:
        row = found.inside[1:]
        here.insert(0, row)
    if found.path and got and expected and row != (got, expected):
        here.insert(0, (got, expected))
    if said := per_process.joined([p[n] for p in seen], [p[n] for p in right], found.path, place, tolerance):
        return said
    if means == "id" and (said := trees.other_ids(*row)):
        return said
    # of a part it may be said that all its elements are right where nothing else is wrong
    at = found.inside[0] if found.inside else found.path
    alone = got is None or expected is None or trees.others_right(got, expected, at, tolerance)
    for got, expected in here:
        for look in LOOKS:
            said = look(got, expected, tolerance)
            if said and (said.key != "elements-order" or alone or (got, expected) != row):
                return said
    if said := trees.an_argument(found.got, seen[place][n].args):
        return said
    whole = [""] if found.path and _all_numbers(here[0][1]) else []
    if found.inside and found.inside[0] and _all_numbers(row[1]):
        whole.append(found.inside[0])
    paths = [*whole, found.path]
    pairs = [(spec.meaning(path), _pairs(spec, seen, right, (place, n), path)) for path in paths]
    pairs = [(meaning, several) for meaning, several in pairs if meaning and several]
    for meaning, several in pairs:
        if said := first_that_holds(_strong(meaning) if several[0].one_shape else shapes.STRONG, several):
            return said
    if said := next(filter(None, (multiple(several) for meaning, several in pairs if meaning in AMOUNTS)), None):
        return said
    if found.path and (said := trees.only_some_leaves(*here[0], tolerance)):
        return said
    for _, several in pairs:
        if said := first_that_holds(numbers.WEAK if several[0].one_shape else shapes.WEAK, several):
            return said
    if said := per_process.apart([p[n] for p in seen], [p[n] for p in right], found.path, tolerance):
        return said
    kinds = {"got": found.got.kind, "expected": found.expected.kind}
    other = kinds["got"] != kinds["expected"] and not isinstance(found.got, Nothing)
    other = other and not isinstance(found.expected, Nothing)  # which is said already
    return Message("other-kind", kinds) if other else None


def _strong(meaning: str) -> Sequence[Callable[[Pair], Message | None]]:
    """What may be said of numbers that mean this."""
    if meaning in ("id", "label"):
        return numbers.OF_IDS
    if meaning == "index":
        return numbers.OF_INDICES
    return numbers.STRONG if meaning == "data" else numbers.OF_AMOUNTS


def first_that_holds(diagnoses: Sequence[Callable[[Pair], Message | None]], pairs: list[Pair]) -> Message | None:
    """The first diagnosis that holds for every pair, else the first that holds for the first pair.

    One number tells little: there a diagnosis has to hold for every pair.
    """
    here = None
    single = max(p.expected.size for p in pairs) == 1
    for diagnose in diagnoses:
        if (said := diagnose(pairs[0])) is None:
            continue
        others = [diagnose(p) if p.one_shape == pairs[0].one_shape else None for p in pairs[1:]]
        if all(o is not None and o.key == said.key for o in others):
            if single and said.key == "zeros" and len(pairs) < 2:
                continue  # one 0.0 may be right somewhere else
            several = len({p.expected.tobytes() for p in pairs}) > 1
            if single and not several and _by_chance(said, pairs[0]):
                continue
            if not single or said.key not in SAME_NUMBER or (several and all(o == said for o in others)):
                return said
        elif (not single and pairs[0].expected.size > 1) or said.key in SURE:
            here = here or said
    return here


SMALL = 64  # a whole number up to here may be n times another by accident


def _by_chance(said: Message, p: Pair) -> bool:
    """Whether a small number is n times the right one, or a part of it: that tells nothing of how it came about."""
    return said.key.startswith(("times", "part-")) and p.whole and bool((np.abs(p.expected) <= SMALL).all())


def multiple(pairs: list[Pair]) -> Message | None:
    """Single numbers, each of them several times what it should be, or part of it, by another factor every time."""
    if len(pairs) < 2 or any(p.expected.size != 1 or p.got.size != 1 for p in pairs):
        return None
    both = [(p.got.item(), p.expected.item()) for p in pairs]
    if len(set(both)) < 2 or any(a == 0 or b == 0 or not np.isfinite([a, b]).all() or a == b for a, b in both):
        return None
    if all(p.whole and 1 in map(abs, two) for p, two in zip(pairs, both, strict=True)):
        return None  # 1 divides every number
    near = max(p.tolerance for p in pairs)
    ratios = [a / b for a, b in both]
    if not any(isinstance(r, complex) for r in ratios) and np.ptp(ratios) <= near * abs(ratios[0]):
        said = {p.setting.devices: numbers.factor_words(ratios[0], p) for p in pairs}
        first = next(iter(said.values()))
        same = all(other and first and other.key == first.key for other in said.values())
        return first if same else Message("times", {"c": numbers.ratio(ratios[0], near)})
    for key, times in (("multiple", ratios), ("fraction", [1 / r for r in ratios])):
        if all(1.5 < np.real(t) <= SMALL and abs(t - round(np.real(t))) <= near * abs(t) for t in times):
            return Message(key, {"n": round(np.real(times[0]))})
    return None


def setting_of(spec: Spec, args: tuple[Value, ...], expected: Value | None) -> Setting:
    """How many devices a case is about: of the expected array, the mesh or the arrays given, else all there are."""
    given = leaves(Tuple(args)).values()
    right = leaves(expected).values() if expected else ()
    meshes = [dict(x.axes) for x in given if isinstance(x, Mesh)]
    counts = [x.count for x in right if isinstance(x, Array)] + [math.prod(m.values()) for m in meshes]
    counts += [x.count for x in given if isinstance(x, Array)]
    devices = next((c for c in counts if c > 1), spec.devices * spec.processes)
    sizes = {size for x in given if isinstance(x, Text) and (size := _itemsize(x.text))}
    small = tuple((n, path, x) for n, path, part in trees.arrays_given(args) if (x := part.whole()) is not None)
    return Setting(devices, spec.processes, meshes[0] if meshes else {}, frozenset(sizes), small)


def _itemsize(name: str) -> int | None:
    try:
        return np.dtype(name).itemsize if name.isalnum() and len(name) > 2 else None
    except TypeError:
        return None


def _pairs(spec: Spec, seen: Seen, right: Seen, shown: tuple[int, int], path: str) -> list[Pair]:
    """The wrong cases at one place of the tree as arrays, the one that is shown first; none where it has no numbers."""
    found = []
    every = [(i, n) for n in range(len(seen[0])) for i in range(len(seen))]
    for i, n in sorted(every, key=lambda c: c != shown):
        mine, its = ([trees.part_at(p[n].value, path) for p in x] for x in (seen, right))
        got, expected = mine[i], its[i]
        if got is None or expected is None:
            continue
        if (i, n) == shown or difference(got, expected, spec.tolerance):
            both = pair(mine, its, i, spec.tolerance, setting_of(spec, seen[i][n].args, right[i][n].value))
            if both is not None and both.like(both.got, both.expected):
                both = None  # what is wrong is not the numbers
            if both is not None and both.expected.size and both.got.size:
                found.append(both)
            elif (i, n) == shown:
                return []
    return found


def _all_numbers(x: Value) -> bool:
    if not isinstance(x, Tree) or isinstance(x, Dict):
        return False
    return bool(x.items) and all(isinstance(item, Int | Float | Bool) for item in x.items)


def _some_cases(spec: Spec, seen: Seen, right: Seen) -> Message | None:
    """How many of the inputs give the right value, and the smallest of them."""
    every = [[(p[n].value, q[n].value) for p, q in zip(seen, right, strict=True)] for n in range(len(seen[0]))]
    fine = [all(a and b and not difference(a, b, spec.tolerance) for a, b in case) for case in every]
    if not 0 < sum(fine) < len(fine):
        return None
    args = min(
        (case.args or () for case, well in zip(seen[0], fine, strict=True) if well), key=lambda x: sum(map(size, x))
    )
    return Message("some-cases", {"right": sum(fine), "n": len(fine), "args": args})
