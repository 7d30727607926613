"""What a wrong answer nearly is, when no known mistake explains it: one sentence's worth, or nothing.

Computed from what was seen of the answer and the solution, over all cases: a diagnosis that holds for all that are
wrong comes before one that holds only for the case that is shown.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from grader.exercise.spec import Spec
from grader.judge.near_misses import errors, numbers, per_process, places, shapes, trees
from grader.judge.near_misses.pair import Pair, Saying, Setting, pair
from grader.judge.near_misses.pair import numbers as numbers_of
from grader.see.compare import Difference, difference

SURE = {"zeros", "not-finite", "not-finite-only", "not-finite-all"}  # of one number in one case
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


def near_miss(spec: Spec, verdict: Any, right: list[Any], answer: list[Any]) -> Saying | None:
    """The diagnosis of a wrong answer, or None. `verdict`, `right` and `answer` as in `verdict.judge`.

    An error is explained, too, where it is one of the usual ones.
    """
    if verdict.reason == "crashed":
        if spec.processes > 1 and verdict.facts["error"] == "SIGABRT":
            return "crashed-together", {}
        return ("donated-crash", {}) if verdict.facts["error"] == "SIGSEGV" else None
    if verdict.reason in ("raised", "load"):
        own = verdict.facts["own"]
        if own and own[-1][1].strip().startswith("raise "):
            return "raised-itself", {}
        return errors.explained(verdict.facts["type"], verdict.facts["text"])
    if verdict.case is None or verdict.reason not in ("differs", "budget"):
        return None
    seen = [result.value["functions"][spec.name] for result in answer]
    place, n = verdict.process or 0, verdict.case
    setting = setting_of(spec, seen[place][n]["args"], right[place][n].get("value"))
    if verdict.reason == "budget":
        return places.budget(verdict.facts, right[place][n]["traffic"], setting.devices)
    found: Difference = verdict.difference
    if found.kind == "printed":
        return places.printed([p[n]["printed"] for p in seen], [p[n]["printed"] for p in right], place)
    if found.kind == "placement" and found.at:
        return places.placement(found.got, found.expected)
    if found.kind == "placement" and _same_numbers(seen, right, place, n, found):
        return places.placement(found.got, found.expected)
    with np.errstate(all="ignore"):
        said = _of_value(spec, seen, right, place, n, found)
    return said or _some_cases(spec, seen, right)


def _same_numbers(seen: list[Any], right: list[Any], place: int, n: int, found: Difference) -> bool:
    mine, its = ([trees.part_at(p[n].get("value"), found.path) for p in x] for x in (seen, right))
    both = pair(mine, its, place, 0.0, Setting(1))
    return both is not None and both.like(both.got, both.expected)


def _of_value(spec: Spec, seen: list[Any], right: list[Any], place: int, n: int, found: Difference) -> Saying | None:
    """In the tree, in the numbers, then how much of them."""
    tolerance = spec.tolerance
    here = [(seen[place][n]["value"], right[place][n]["value"]), (found.got, found.expected)]
    here = here[1:] if not found.path else here
    if said := per_process.joined([p[n] for p in seen], [p[n] for p in right], found.path, place, tolerance):
        return said
    for got, expected in here:
        for look in LOOKS:
            if said := look(got, expected, tolerance):
                return said
    if said := trees.an_argument(found.got, seen[place][n]["args"]):
        return said
    paths = ["", found.path] if found.path and _all_numbers(here[0][1]) else [found.path]
    pairs = [_pairs(spec, seen, right, (place, n), path) for path in paths]
    for several in filter(None, pairs):
        if said := first_that_holds(numbers.STRONG if several[0].one_shape else shapes.STRONG, several):
            return said
    if said := next(filter(None, map(multiple, filter(None, pairs))), None):
        return said
    if found.path and (said := trees.only_some_leaves(*here[0], tolerance)):
        return said
    for several in filter(None, pairs):
        if said := first_that_holds(numbers.WEAK if several[0].one_shape else shapes.WEAK, several):
            return said
    if said := per_process.apart([p[n] for p in seen], [p[n] for p in right], found.path, tolerance):
        return said
    kinds = {"got": trees.kind(found.got), "expected": trees.kind(found.expected)}
    return ("other-kind", kinds) if kinds["got"] != kinds["expected"] and found.got["t"] != "none" else None


def first_that_holds(diagnoses: Sequence[Callable[[Pair], Saying | None]], pairs: list[Pair]) -> Saying | None:
    """The first diagnosis that holds for every pair, else the first that holds for the first pair.

    One number tells little: there a diagnosis has to hold for every pair.
    """
    here = None
    single = max(p.expected.size for p in pairs) == 1
    for diagnose in diagnoses:
        if (said := diagnose(pairs[0])) is None:
            continue
        others = [diagnose(p) if p.one_shape == pairs[0].one_shape else None for p in pairs[1:]]
        if all(o is not None and o[0] == said[0] for o in others):
            if not single or said[0] not in SAME_NUMBER:
                return said
            if all(o == said for o in others) and len({p.expected.tobytes() for p in pairs}) > 1:
                return said
        elif not single or said[0] in SURE:
            here = here or said
    return here


def multiple(pairs: list[Pair]) -> Saying | None:
    """Whole numbers, each of them several times what it should be, or part of it, by another factor every time."""
    if len(pairs) < 2 or any(p.expected.size != 1 or p.got.size != 1 or not p.whole for p in pairs):
        return None
    both = [(int(p.got.item()), int(p.expected.item())) for p in pairs]
    if len(set(both)) < 2 or any(a == 0 or b == 0 for a, b in both):
        return None
    if len({a / b for a, b in both}) == 1:
        return numbers.factor_words(both[0][0] / both[0][1], pairs[0])
    if all(a % b == 0 for a, b in both):
        return "multiple", {"n": both[0][0] // both[0][1]}
    return ("fraction", {"n": both[0][1] // both[0][0]}) if all(b % a == 0 for a, b in both) else None


def setting_of(spec: Spec, args: list[Any], expected: Any) -> Setting:
    """How many devices a case is about: of the expected array, the mesh or the arrays given, else all there are."""
    leaves = list(trees.leaves({"t": "tuple", "items": args}).values())
    right = [x for x in trees.leaves(expected or {"t": "none"}).values() if x["t"] == "array"]
    meshes = [dict(x["axes"]) for x in leaves if x["t"] == "mesh"]
    counts = [x.get("count", 1) for x in right] + [math.prod(m.values()) for m in meshes]
    counts += [x.get("count", 1) for x in leaves if x["t"] == "array"]
    devices = next((c for c in counts if c > 1), spec.devices * spec.processes)
    sizes = {size for x in leaves if x["t"] == "str" and (size := _itemsize(x["v"]))}
    given = tuple((n, path, x) for n, path, part in trees.arrays_given(args) if (x := numbers_of([part])) is not None)
    return Setting(devices, spec.processes, meshes[0] if meshes else {}, frozenset(sizes), given)


def _itemsize(name: str) -> int | None:
    try:
        return np.dtype(name).itemsize if name.isalnum() and len(name) > 2 else None
    except TypeError:
        return None


def _pairs(spec: Spec, seen: list[Any], right: list[Any], shown: tuple[int, int], path: str) -> list[Pair]:
    """The wrong cases at one place of the tree as arrays, the one that is shown first; none where it has no numbers."""
    found = []
    every = [(i, n) for n in range(len(seen[0])) for i in range(len(seen))]
    for i, n in sorted(every, key=lambda c: c != shown):
        mine, its = ([trees.part_at(p[n].get("value"), path) for p in x] for x in (seen, right))
        if mine[i] is None or its[i] is None:
            continue
        if (i, n) == shown or difference(mine[i], its[i], spec.tolerance):
            both = pair(mine, its, i, spec.tolerance, setting_of(spec, seen[i][n]["args"], right[i][n]["value"]))
            if both is not None and both.like(both.got, both.expected):
                both = None  # what is wrong is not the numbers
            if both is not None and both.expected.size and both.got.size:
                found.append(both)
            elif (i, n) == shown:
                return []
    return found


def _all_numbers(x: Any) -> bool:
    return bool(x.get("items")) and "keys" not in x and all(i["t"] in ("int", "float", "bool") for i in x["items"])


def _some_cases(spec: Spec, seen: list[Any], right: list[Any]) -> Saying | None:
    """How many of the inputs give the right value."""
    every = [[(p[n], q[n]) for p, q in zip(seen, right, strict=True)] for n in range(len(seen[0]))]
    fine = [
        all("value" in a and not difference(a["value"], b["value"], spec.tolerance) for a, b in case) for case in every
    ]
    return ("some-cases", {"right": sum(fine), "n": len(fine)}) if 0 < sum(fine) < len(fine) else None
