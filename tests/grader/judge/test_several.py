"""Two known mistakes in one answer: named together where each place, case or number says so, and only there."""

import numpy as np
import pytest
from near_cases import case, result, spec_of

from grader.judge.several import together

RNG = np.random.default_rng(5)
X = [RNG.normal(size=4) for _ in range(3)]


def named(right, answer, **mistakes):
    every = {name: [result(map(case, values), name)] for name, values in mistakes.items()}
    return together(spec_of(), [[*map(case, right)]], [result(map(case, answer))], every, list(every))


def test_each_key_is_wrong_as_one_of_them_is():
    right = [{"a": x, "b": -x, "c": 1.0} for x in X]
    doubled = [{**r, "a": 2 * r["a"]} for r in right]
    turned = [{**r, "b": r["b"][::-1].copy()} for r in right]
    both = [{**r, "a": 2 * r["a"], "b": r["b"][::-1].copy()} for r in right]
    assert named(right, both, doubled=doubled, turned=turned) == ("doubled", "turned")
    assert named(right, both, doubled=doubled) == ()  # b is not explained
    assert named([tuple(r.values()) for r in right], [tuple(r.values()) for r in both]) == ()
    # of several that are alike at one place it is the one that is not wrong elsewhere in another way
    worse = [{**t, "a": 5 * t["a"]} for t in turned]
    assert named(right, both, worse=worse, doubled=doubled, turned=turned) == ("doubled", "turned")
    # a single one where the answer does elsewhere better
    pairs = [(x, 2 * x) for x in X]
    assert named(pairs, [(x + 1, 2 * x) for x in X], both=[(x + 1, x) for x in X]) == ("both",)


@pytest.mark.parametrize("what", ["factors", "terms"])
def test_numbers_are_those_of_two_multiplied_or_added(what):
    right = [float(n) for n in (3, 5, 8, 13)]
    first = [r * n / (n + 1) for n, r in enumerate(right, 1)] if what == "factors" else [r + 2 for r in right]
    second = [3 * r for r in right] if what == "factors" else [r - n**2 for n, r in enumerate(right, 3)]
    combined = [a * b / r if what == "factors" else a + b - r for a, b, r in zip(first, second, right, strict=True)]
    assert named(right, combined, first=first, second=second) == ("first", "second")
    assert named(right, [c + 0.1 for c in combined], first=first, second=second) == ()


def test_numbers_beside_much_larger_ones_count_as_much():
    right = [(1e8, float(n)) for n in (3, 5, 8, 13)]
    first = [(x, 1.01 * v) for x, v in right]
    second = [(x, v * n / (n + 1)) for n, (x, v) in enumerate(right, 1)]
    both = [(x, 1.01 * v) for x, v in second]
    assert named(right, both, first=first, second=second) == ("first", "second")
    third = [(x, 1.02 * v) for x, v in right]
    assert named(right, both, first=third, second=second) == ()  # as near as that, beside 1e8


def test_what_fits_by_accident_and_two_that_cancel_explain_nothing():
    assert named([2, 2, 2], [4, 4, 4], first=[8, 8, 8], second=[1, 1, 1]) == ()
    # What is wrong is its bytes, say: a sum for a mean and one mean too many are not in it.
    assert named(X, X, summed=[4 * x for x in X], twice=[x / 4 for x in X]) == ()


def test_each_wrong_case_is_explained_by_one_of_them():
    right = [x for x in X] + [x + 5 for x in X]
    first = [-x for x in X] + [x + 5 for x in X]
    second = [x for x in X] + [x + 6 for x in X]
    both = first[:3] + second[3:]
    assert named(right, both, first=first, second=second) == ("first", "second")
    assert named(right, both[:5] + [x * 9 for x in X[:1]], first=first, second=second) == ()
