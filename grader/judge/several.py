"""Find known mistakes that together explain a wrong answer if none of them explains it alone."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from grader.exercise.spec import Spec
from grader.judge.alike import Agreement, agreement
from grader.judge.compare import difference
from grader.judge.verdict import Seen
from grader.see.array_values import Array
from grader.see.observation import Observation, ProcessResult
from grader.see.values import Dict, Float, Int, Text, Tree, Value, leaves

Results = Sequence[ProcessResult]
Column = list[Value]  # what came back, case after case and process after process
LARGEST = 2.0**500  # of numbers that are multiplied: the product is a float still
ENOUGH = 3  # numbers that differ from one another before an equation is no accident


def together(
    spec: Spec, right: Seen, answer: Results, results: Mapping[str, Results], names: list[str]
) -> tuple[str, ...]:
    """Return the mistakes that an answer makes at once, as functions of mistakes.py; () if unknown.

    Each place of a tuple or a dict, or each case, is wrong in the same way as one of them, or the numbers combine two
    mistakes as a product or a sum. A single name: the answer does the same where it is wrong, and is right more often.
    """
    got, expected = _column([r.cases(spec.name) for r in answer]), _column(right)
    if got is None or expected is None:
        return ()
    columns = {name: column for name in names if (column := _column([r.cases(name) for r in results[name]]))}
    mistakes = _by_place(spec, got, expected, columns) or _by_number(spec, got, expected, columns)
    return mistakes or _by_case(spec, right, answer, results, list(columns))


def _column(processes: Sequence[Sequence[Observation] | None]) -> Column | None:
    """Return all values, or None if one is missing."""
    values = [case.value for cases in processes for case in cases or ()]
    return [v for v in values if v is not None] if values and None not in values and None not in processes else None


def _by_place(spec: Spec, got: Column, expected: Column, columns: dict[str, Column]) -> tuple[str, ...]:
    """Return, for each place at which the answer is wrong, the first mistake with the same value there."""
    mine, right = _parts(got), _parts(expected)
    if mine is None or right is None or mine.keys() != right.keys() or len(right) < 2:
        return ()
    others = {
        name: parts for name, column in columns.items() if (parts := _parts(column)) and parts.keys() == right.keys()
    }
    chosen: dict[str, None] = {}
    for place, values in mine.items():
        wrong = [
            n for n, (a, b) in enumerate(zip(values, right[place], strict=True)) if difference(a, b, spec.tolerance)
        ]
        if not wrong:
            continue
        if not _says_enough([values[n] for n in wrong]):
            return ()
        alike = [name for name, parts in others.items() if _same(spec, values, parts[place])]
        if not alike:
            return ()
        named = next((name for name in alike if name in chosen), None)
        chosen[named or min(alike, key=lambda name: _more_wrong(spec, mine, right, others[name]))] = None
    return tuple(chosen)


def _more_wrong(spec: Spec, mine: Mapping[str, Column], right: Mapping[str, Column], its: Mapping[str, Column]) -> int:
    """Count the places at which a mistake is wrong in a different way than the answer."""
    return sum(not _same(spec, its[p], right[p]) and not _same(spec, its[p], mine[p]) for p in right)


def _parts(column: Column) -> dict[str, Column] | None:
    """Return the values at each place of the trees of a column, if all have the same places."""
    columns: dict[str, Column] = {}
    for tree in column:
        if not isinstance(tree, Tree) or not tree.items:
            return None
        labels = [str(label) for label in tree.labels]
        if columns and sorted(columns) != sorted(labels):
            return None
        for label, item in zip(labels, tree.items, strict=True):
            columns.setdefault(label, []).append(item)
    return columns if all(len(values) == len(column) for values in columns.values()) else None


def _same(spec: Spec, one: Column, other: Column) -> bool:
    return len(one) == len(other) and not any(difference(a, b, spec.tolerance) for a, b in zip(one, other, strict=True))


def _says_enough(values: Column) -> bool:
    """Return whether so much is wrong that two functions hardly agree by accident."""
    large = any(isinstance(v, Float | Text | Dict) or (isinstance(v, Array | Tree)) for v in values)
    return large or len({str(v) for v in values}) > 1


def _by_number(spec: Spec, got: Column, expected: Column, columns: dict[str, Column]) -> tuple[str, ...]:
    """Find two mistakes whose factors multiply, or whose terms add up, to the result but not to the right one."""
    every = {name: x for name, column in columns.items() if (x := _numbers(column))}
    its, whole = _numbers(got), _numbers(expected)
    if its is None or whole is None or its[1] != whole[1]:
        return ()
    (a, _), (b, sizes) = its, whole
    arrays = {name: x for name, (x, of_each) in every.items() if of_each == sizes}

    def near(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return where they agree up to rounding, relative to each value's own largest number."""
        scale = np.repeat(np.maximum.reduceat(np.abs(y), np.cumsum([0, *sizes[:-1]])), sizes)
        return np.abs(x - y) <= 10 * spec.tolerance * np.abs(y) + spec.tolerance * scale

    mistakes = []
    for (one, x), (other, y) in combinations(arrays.items(), 2):
        both = ~near(x, b) & ~near(y, b) & ~near(a, b)
        if len(np.unique(a[both])) < ENOUGH or near(x, y).all():
            continue
        if near(a * b, x * y).all() or near(a + b, x + y).all():
            mistakes.append((one, other))
    return mistakes[0] if len(mistakes) == 1 else ()


def _numbers(column: Column) -> tuple[np.ndarray, list[int]] | None:
    """Return all numbers of a column as one array, and the size of each part; None if it contains anything else."""
    arrays: list[np.ndarray] = []
    for value in column:
        for leaf in leaves(value).values():
            if isinstance(leaf, Int | Float):
                if abs(leaf.number) > LARGEST:
                    return None
                arrays.append(np.asarray([leaf.number], np.float64))
            elif isinstance(leaf, Array) and leaf.has_numbers and not leaf.partial:
                whole = leaf.whole()
                if whole is None or whole.dtype.kind not in "fiuV":
                    return None
                arrays.append(whole.astype(np.float64).ravel())
            else:
                return None
    arrays = [part for part in arrays if part.size]
    numbers = np.concatenate(arrays) if arrays else np.zeros(0)
    return (numbers, [part.size for part in arrays]) if numbers.size and np.isfinite(numbers).all() else None


def _by_case(
    spec: Spec, right: Seen, answer: Results, results: Mapping[str, Results], names: list[str]
) -> tuple[str, ...]:
    """Find two mistakes, each of which explains the wrong cases that the other does not."""
    path = str(spec.folder / "mistakes.py")
    agreements: dict[str, Agreement] = {}
    for name in names:
        agreed = agreement(spec, right, list(answer), (list(results[name]), name, path))
        if agreed and agreed.alike:
            agreements[name] = agreed
    pairs = []
    for (one, a), (other, b) in combinations(agreements.items(), 2):
        if a.apart and b.apart and a.apart <= b.alike and b.apart <= a.alike:
            if min(len(a.alike - b.alike), len(b.alike - a.alike)) > 1 or (a.telling and b.telling):
                pairs.append((one, other))
    return pairs[0] if len(pairs) == 1 else ()
