"""A known mistake is named where it agrees on every case, and called likely where it does as far as the cases tell."""

import numpy as np
import pytest
from checker_runs import answer, check, lesson, project, verdict_on
from near_cases import E, case, result, spec_of

from grader.exercise.exercises import Catalogue
from grader.judge.alike import agreement
from grader.judge.mistakes import _likely
from grader.run.mistakes_seen import Notes
from grader.see.observation import Failure, Observation

RAISED = Observation((), failure=Failure("ValueError", "need at least one array"))


def seen(values, name="f"):
    return [result((RAISED if value is RAISED else case(value) for value in values), name)]


def likely(answer, right, **mistakes):
    solution = [[case(value) for value in right]]
    return _likely(
        {
            name: agreement(spec_of(), solution, seen(answer), (seen(values, name), name, ""))
            for name, values in mistakes.items()
        }
    )


def test_an_error_on_an_edge_does_not_hide_a_mistake():
    found = likely([2.5, 3.5, RAISED], [1.5, 2.0, 0.0], mean=[2.5, 3.5, 7.0], largest=[9.0, 9.0, 9.0])
    assert found and (found.name, found.certain, found.cases) == ("mean", False, {0, 1})
    found = likely([2.5, 3.5, 0.0], [1.5, 2.0, 0.0], mean=[2.5, 3.5, RAISED])
    assert found and found.name == "mean"
    # nor to find nothing
    right = [(1, 45), (3, 39), (0, 12)]
    found = likely([(2, 45), (1, 39), (0, 0)], right, shortest=[(2, 45), (1, 39), None])
    assert found and found.name == "shortest" and not found.certain
    # nor one case that is rounded otherwise
    right = [("all-reduce", E), ("all-gather", E[:8]), ("permute", E[:4])]
    wrong = [("all-reduce", 2 * E), ("all-gather", 2 * E[:8]), ("permute", 2 * E[:4])]
    answer = [*wrong[:2], ("all-to-all", E[:4])]
    found = likely(answer, right, twice=wrong)
    assert found and (found.name, found.cases) == ("twice", {0, 1})


def test_arrays_of_nothing_but_nan_are_alike_by_accident():
    right = [E, E[:8], E[:4]]
    nan, half = [np.full_like(x, np.nan) for x in right], E.copy()
    half[::2] = np.nan
    assert likely([half, *nan[1:]], right, bubble=[E[::-1].copy(), *nan[1:]]) is None
    doubled = [2 * x for x in right]
    assert likely([half, *doubled[1:]], right, bubble=[E[::-1].copy(), *doubled[1:]])


def test_two_that_would_explain_it_as_well_explain_nothing():
    one_or_other = {"a": [2.5, 4.0, 1.0], "b": [2.5, 4.0, 7.0]}
    assert likely([2.5, 4.0, RAISED], [1.5, 2.0, 0.0], **one_or_other) is None
    found = likely([2.5, 4.0, RAISED], [1.5, 2.0, 0.0], a=[2.5, 4.0, 1.0], a_nan=[2.5, 4.0, 7.0])
    assert found and found.name == "a"  # by its name the other is the same with another end
    # who is right where the mistake is wrong does not make it
    assert likely([2.5, 2.0, 0.5], [1.5, 2.0, 0.5], mean=[2.5, 3.5, 7.0]) is None


def test_an_id_or_a_word_may_be_the_same_by_accident():
    """One case apart is too many where a value says so little."""
    for wrong, right in ([2, 3, 4], [1, 2, 3]), (["a", None, "b"], ["c", "d", "e"]):
        assert likely([*wrong[:2], right[2]], right, other=wrong) is None
        assert likely([*wrong[:2], RAISED], right, other=wrong) is not None


TWICE = """[half.mistakes.twice]
name = { en = "twice", zh-Hans = "两倍" }
text = { en = "It is doubled.", zh-Hans = "乘了二。" }
"""


def told(root, right, given, mistakes):
    """The verdict, and what a learner reads in English and in Chinese."""
    blank, tests = "raise NotImplementedError", "check(lambda rng: [(4.0,), (7.0,), (0.0,)], values='seconds')"
    function = "def half(x):\n    {}\n".format
    tests = f"def test_half(check):\n    {tests}\n"
    lesson(root, "ch97_half", function(blank), function(f"return {right}"), tests, mistakes, TWICE)
    answer(root, "ch97_half", function(f"return {given}"))
    verdict, said = verdict_on(root, "ch97_half.half")
    return verdict, said["en"], said["zh-Hans"]


def test_a_learner_reads_that_it_is_only_likely(tmp_path):
    """The error on 0 is the answer's own; what it does otherwise is a known mistake, which is shown where it tells."""
    mistakes = "def half__whole(x):\n    return float(x // 2)\n\n\ndef half__twice(x):\n    return 2 * x\n"
    verdict, english, chinese = told(tmp_path / "a", "x / 2", "2 * x if 1 / x else 0.0", mistakes)
    assert (verdict.outcome, verdict.mistake, verdict.likely) == ("wrong", None, "half__twice")
    assert english == [
        "Judging by this case, the mistake looks like: twice — It is doubled.",
        "called    half(4.0)",
        "got       8.0",
        "expected  2.0",
    ]
    assert chinese[0] == "就这个例子看，像是：两倍——乘了二。"
    # of a mistake that is made in one part only nothing is said that is of the others
    mistakes = "def half__twice(x):\n    return 2 * x, 2 * x\n"
    verdict, english, chinese = told(tmp_path / "b", "x / 2, x", "2 * x, x", mistakes)
    assert (verdict.outcome, verdict.likely) == ("wrong", "half__twice")
    assert english[0] == "Judging by this case, the mistake in the wrong parts looks like: twice."
    assert chinese[0] == "就这个例子看，出错的部分像是：两倍。"


LEFT_ALONE = """import jax
from jax.experimental import multihost_utils


def everybody(x):
    if len(x) == 5 and jax.process_index() == 1:
        raise ValueError("an edge")
    multihost_utils.process_allgather(x)
    return float(x.sum())
"""


@pytest.mark.long
def test_who_fails_on_an_edge_and_leaves_the_other_waiting_still_learns_what_else_is_wrong(tmp_path):
    root = project(tmp_path)
    answer(root, "ch91_pair", LEFT_ALONE)
    Notes(Catalogue(root / "lessons").spec("ch91_pair.everybody")).add("everybody__own", slow=False)
    said = check(root, "lessons/ch91_pair", "--limit=100").text
    assert "Judging by this case, the mistake looks like: only its own" in said
