"""Which of several things that went wrong is told."""

from pathlib import Path

from grader.exercise.spec import Spec
from grader.judge.verdict import Verdict, judge
from grader.messages import say
from grader.see.left_behind import Change
from grader.see.observation import Failure, FileObservation, Observation, ProcessResult
from grader.see.values import Int

SPEC = Spec("ch90_pair", "f", Path("lessons/ch90_pair"), lambda rng: [], processes=2, devices=4)
RIGHT = Observation((), Int(1))


def seen(*cases):
    return ProcessResult("ok", FileObservation(functions={"f": cases}))


def failed(words, kind="KeyError"):
    return Observation((), failure=Failure(kind, words))


def told(*answer):
    return judge(SPEC, Verdict("ch90_pair.f", ""), [[RIGHT, RIGHT]] * 2, list(answer), "f", limit=20.0)


def test_an_error_in_one_process_explains_why_the_other_hung():
    verdict = told(ProcessResult("hung", text="…", seconds=9.0), seen(RIGHT, failed("own")))
    assert (verdict.outcome, verdict.reason, verdict.process, verdict.case) == ("wrong", "raised", 1, 1)


def test_a_hang_is_told_when_the_other_process_only_waited_in_vain():
    verdict = told(
        ProcessResult("hung", text="…", seconds=9.0), seen(RIGHT, failed("Gloo: Timed out", "JaxRuntimeError"))
    )
    assert (verdict.outcome, verdict.reason, verdict.process) == ("hung", "hung-alone", 0)


def test_an_error_comes_before_the_wait_that_it_caused():
    verdict = told(seen(RIGHT, failed("Gloo: Timed out", "JaxRuntimeError")), seen(RIGHT, failed("own")))
    assert (verdict.outcome, verdict.reason, verdict.process) == ("wrong", "raised", 1)


def test_arguments_are_counted_from_0():
    changed = Observation((), Int(1), changed=Change(argument=0))
    because = told(seen(changed, changed), seen(RIGHT, RIGHT)).because
    assert "argument 0 (counted from 0) is no longer" in say(because.key, "en", **because.values)
    assert "第 0 个参数（从 0 数起）被改动了" in say(because.key, "zh-Hans", **because.values)
