"""The reader's own settings and machine: never called the book's faults."""

import os
import subprocess
import sys

import pytest
from checker_runs import HERE, answer, check, verdict_on

from grader.exercise.exercises import Catalogue
from grader.exercise.spec import Settings
from grader.judge.verdict import Verdict
from grader.run import checking
from minipod import forked

BENT = {
    "XLA_FLAGS": "--xla_nosuch_flag=1",
    "JAX_DISABLE_JIT": "1",
    "JAX_ENABLE_X64": "1",
    "JAX_PLATFORMS": "cuda",
    "http_proxy": "http://127.0.0.1:9",
}


def test_settings_of_jax_change_no_verdict_and_are_named(root):
    checked = check(root, "--solutions", "-k", "total", env=BENT)
    assert [row["outcome"] for row in checked.rows.values()] == ["right"], checked.text
    (line,) = [
        line for line in checked.text.splitlines() if line.startswith("environment variables that the checks ignore: ")
    ]
    assert [name for name in BENT if name not in line] == ["http_proxy"]


@pytest.mark.long
def test_a_class_is_checked_without_them(root):
    (root / "submissions").mkdir()
    answer(root, "ch90_one", (root / "solutions/ch90_one.py").read_text(), "submissions/ada")
    command = [sys.executable, "-m", "grader.classroom.class_command", "submissions", "--root", ".", "--lang", "en"]
    env = os.environ | BENT | {"PYTHONPATH": str(HERE.parent)}
    done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, timeout=300)
    assert "environment variables that the checks ignore: " in done.stdout, done
    assert "right answers: 3 of 3" in done.stdout


@pytest.mark.parametrize("lang", ["en", "zh-Hans", "zh-Hant"])
def test_where_no_pair_can_start_the_doctor_is_named(root, lang):
    spec, settings = Catalogue(root / "lessons").spec("ch91_pair.everybody"), Settings(root / "answers", 1)
    check = checking.Check(spec, settings, Verdict(spec.exercise, ""))
    check.cached.solution = [forked.Result("died", text="SIGABRT", ready=False)] * 2
    assert checking.conclude(check, []).outcome == "skipped"
    said = checking.in_words(check, lang)
    assert "SIGABRT" in said and "`minipod doctor`" in said


def test_no_process_for_an_answer_is_one_sentence(root, monkeypatch):
    def refuse(*_, **__):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    answer(root, "ch90_one", "def double(x):\n    return 2 * x\n")
    monkeypatch.setattr(checking.forked, "start", refuse)
    verdict, said = verdict_on(root, "ch90_one.double")
    assert verdict.outcome == "broken"
    assert said["en"][0].startswith("A process could not be started (Resource temporarily unavailable): ")
