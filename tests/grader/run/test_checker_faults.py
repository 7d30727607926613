"""Whose fault it is that an answer cannot be judged: the answer's, which spoilt what was seen of it, or ours."""

import copy
import json
from pathlib import Path

import numpy as np
import pytest

from grader.exercise.spec import Settings, Spec
from grader.judge.verdict import Verdict
from grader.run import checking
from grader.run.checking import CachedResults, Check
from grader.see.observation import FileObservation, Observation, Truth, is_complete, received
from grader.see.packing import pack
from grader.see.wire import encode
from minipod.forked import Result

SPEC = Spec("ch90_one", "f", Path("lessons/ch90_one"), lambda rng: [])


def seen(*values, oracle=True):
    cases = tuple(Observation((), pack(value)) for value in values)
    truths = tuple(Truth(pack(value)) for value in values) if oracle else ()
    return Result("ok", value=encode(FileObservation(functions={"f": cases}, oracle=truths)))


def judged(answer, *right):
    cached = CachedResults([received(seen(*right))])
    check = Check(SPEC, Settings(Path("answers"), 0), Verdict(SPEC.exercise, ""), cached)
    verdict = checking.conclude(check, [received(answer)])
    return verdict.outcome, verdict.reason, checking.in_words(check, "en")


@pytest.fixture
def told(monkeypatch):
    """As a learner has it: our own faults are told, not raised."""
    monkeypatch.delenv(checking.SURFACE)


def fail(*_):
    return {}["gone"]


def test_a_fault_of_ours_is_told_as_ours(told, monkeypatch):
    monkeypatch.setattr(checking, "judge", fail)
    outcome, reason, words = judged(seen(2, 3), 2, 3)
    assert (outcome, reason) == ("broken", "own-fault")
    assert words.startswith(
        "The checker itself failed on this answer. This is not your fault; please report it: KeyErr"
    )
    assert "'gone' (test_checker_faults.py:" in words


@pytest.mark.parametrize("part", ["judge", "near_miss", "explain"])
def test_a_fault_of_ours_ends_our_own_tests(monkeypatch, part):
    monkeypatch.setattr(checking, part, fail)
    with pytest.raises(KeyError, match="gone"):
        judged(seen(2, 5), 2, 3)


def test_an_explanation_that_fails_is_told_too(told, monkeypatch):
    real = checking.explain
    monkeypatch.setattr(checking, "explain", lambda s, v, *rest: (fail if v.reason == "differs" else real)(s, v, *rest))
    assert judged(seen(2, 5), 2, 3)[1:] == judged(seen(2, 5), 2, 3)[1:]
    assert "please report it" in judged(seen(2, 5), 2, 3)[2]


FINE = [None, True, 3, 2.5, 1j, "s", b"b", [1, (2,)], {"a": 1}, {1}, slice(1), np.dtype("i4"), print, object()]
FINE += [10**400, -(10**30), [10**400], float("nan"), np.str_("s"), np.bytes_(b"b"), np.datetime64("2026-01-01")]
FINE += [np.ones((2, 3)), np.zeros((0, 2)), np.array(["a"]), np.array([None]), np.zeros(2, [("a", "f4")])]


def test_whatever_comes_back_has_the_form():
    for value in FINE:
        result = received(seen(value))
        assert is_complete(SPEC, 1, result)
        assert encode(result.file) == json.loads(json.dumps(seen(value).value)) or value != value
        for right in (value, 2, 0.5, np.ones(2, np.float32)):
            assert judged(seen(value, 2), right, 2)[1] != "spoilt"


def broken_in_one_place(data):
    """The data with one part at a time left out or replaced."""
    for n, key in enumerate(list(data) if isinstance(data, dict) else []):
        if key in ("oracle", "first"):  # of a solution only; only shown
            continue
        for put in (None, [[1]], "\ud800", -1, {}):
            other = copy.deepcopy(data)
            other[key] = put
            yield other
        yield {k: v for m, (k, v) in enumerate(data.items()) if m != n}
        for inner in broken_in_one_place(data[key]):
            yield data | {key: inner}
    for n, item in enumerate(data if isinstance(data, list) else []):
        for inner in broken_in_one_place(item):
            yield [*data[:n], inner, *data[n + 1 :]]


def test_what_an_answer_spoilt_never_looks_like_a_fault_of_ours():
    tree = {"w": np.ones((2, 2), np.float32), "n": (1, 2.5, None, "x")}
    forged = list(broken_in_one_place(seen(tree, 3.0).value))
    assert len(forged) > 150
    for value in forged:
        judged(Result("ok", value=value), tree, 2.0)  # raises where it is taken for ours
    for result in (Result("ok", value=3), Result("ok", value={}), Result(3), Result("raised", text=5)):
        assert judged(result, tree, 2.0)[:2] == ("broken", "spoilt")
