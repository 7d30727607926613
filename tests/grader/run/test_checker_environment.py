"""The reader's own settings and machine: never called the book's faults."""

import json
import os
import subprocess
import sys

import pytest
from checker_runs import HERE, answer, check, project

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
NAMES = ("XLA_FLAGS", "JAX_DISABLE_JIT", "JAX_ENABLE_X64", "JAX_PLATFORMS")


@pytest.fixture
def root(tmp_path):
    return project(tmp_path)


def plain():
    """This process's environment without the settings of JAX that other tests have left in it."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "XLA_", "PYTHON"))}


@pytest.mark.parametrize(
    ("lang", "words"), [("en", "left aside for the checks: "), ("zh-Hans", "检查时不采用这些环境变量：")]
)
def test_settings_of_jax_change_no_verdict_and_are_named(root, lang, words):
    checked = check(root, "--solutions", "--lang", lang, env=BENT)
    assert {row["outcome"] for row in checked.rows.values()} == {"right"}, checked.text
    (line,) = [line for line in checked.text.splitlines() if line.startswith(words)]
    assert all(name in line for name in NAMES) and "proxy" not in line


def test_without_such_settings_nothing_is_said(root):
    command = [sys.executable, "-m", "pytest", "lessons", "--solutions", "-k", "count_to", "-p", "no:cacheprovider"]
    env = plain() | {"PYTHONPATH": str(HERE.parent)}
    done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and "left aside" not in done.stdout


def test_the_service_leaves_them_aside_and_says_so(root):
    answer(root, "ch90_one", (root / "solutions/ch90_one.py").read_text())
    command = [sys.executable, "-m", "grader.run.service", "--root", ".", "--answers", "answers"]
    env = plain() | BENT | {"PYTHONPATH": str(HERE.parent)}
    asked = json.dumps({"id": 1, "check": "ch90_one.double"}) + "\n"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=root, env=env, text=True, **pipes) as service:
        (note,) = json.loads(service.stdout.readline())["notes"]
        assert note.startswith("left aside for the checks: ") and all(name in note for name in NAMES)
        service.stdin.write(asked)
        service.stdin.flush()
        assert json.loads(service.stdout.readline())["outcome"] == "right"
        service.stdin.close()


@pytest.mark.long
def test_a_class_is_checked_without_them(root):
    (root / "submissions").mkdir()
    answer(root, "ch90_one", (root / "solutions/ch90_one.py").read_text(), "submissions/ada")
    command = [sys.executable, "-m", "grader.classroom.class_command", "submissions", "--root", ".", "--lang", "en"]
    env = plain() | BENT | {"PYTHONPATH": str(HERE.parent)}
    done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, timeout=300)
    assert "left aside for the checks: " in done.stdout and "3 of 3 answers right" in done.stdout, done


SAID = "The reference solution ends here, too: {}; try again when the machine is less busy, or run `minipod doctor`."
ENDS = {
    "os._exit(3)": "exit code 3: the last words",
    "os.abort()": "SIGABRT: the last words",
    "raise MemoryError('no more')": "MemoryError: no more (raise MemoryError('no more'))",
    "raise ImportError('libfoo.so: wrong ELF class')": "ImportError: libfoo.so: wrong ELF class (raise ImportError(",
    "while True: pass": "TimeoutError: 4 s (ch90_one.py, line 5 in double)",
}


@pytest.mark.parametrize("end", ENDS)
def test_a_solution_that_ends_here_shows_its_last_words_and_what_to_run(root, end):
    answer(root, "ch90_one", "def double(x):\n    return 2 * x\n")
    solution = root / "solutions/ch90_one.py"
    says = "import os, sys\n\ndef double(x):\n    print('the last words\\n@  0x7f', file=sys.stderr, flush=True)\n"
    solution.write_text(f"{says}    {end}\n")
    checked = check(root, "-k", "double", "--limit=4")
    row = checked.rows["ch90_one.double"]
    before, after = SAID.split("{}")
    assert row["outcome"] == "broken" and row["message"].startswith(before + ENDS[end]), row
    assert row["message"].endswith(after) and "report it" not in checked.text
    assert "参考解答在这台机器上也运行不下去" in check(root, "-k", "double", "--limit=4", "--lang=zh-Hans").text


def test_a_lesson_that_is_wrong_is_still_to_be_reported(root):
    answer(root, "ch90_one", "def double(x):\n    return 2 * x\n")
    solution = root / "solutions/ch90_one.py"
    for text in ("def double(x):\n    return 3 * x\n", "def other(x):\n    pass\n", "def double(x)\n", None):
        solution.write_text(text or (root / "lessons/ch90_one/exercises.py").read_text())
        assert "This exercise itself is faulty" in check(root, "-k", "double").rows["ch90_one.double"]["message"]


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
    check = checking.begin(Catalogue(root / "lessons").spec("ch90_one.double"), Settings(root / "answers", 1))
    assert checking.finish(check).outcome == "broken"
    assert checking.in_words(check, "en").startswith("No process could be started (Resource temporarily unavailable): ")
