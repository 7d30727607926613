"""What is noted of a learner's progress stays: with two at once, on a full disk, killed while saving, found torn."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from checker_runs import HERE, answer, check
from learn_answers import silent

from grader import files
from grader.exercise import progress
from grader.learn.overview import Course
from grader.learn.session import Session

EXERCISE = "ch90_one.double"
TIMES = 100
SAVES = f"""
import itertools, sys
from pathlib import Path
from grader.exercise import progress
folder, name, endless = Path(sys.argv[1]), sys.argv[2], len(sys.argv) > 3
for n in itertools.count() if endless else range({TIMES}):
    said = progress.save_state(folder, {{f"ch90_one.{{name}}{{n % {TIMES}}}": ("right", "0" * 16)}}, "en")
    assert said == "", said
    if n == 0:
        print("at it", flush=True)
"""
FULL = f"""
import resource, sys
from pathlib import Path
from grader.exercise import progress
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))  # nothing longer can be written, as on a disk that is full
print(progress.save_state(Path(sys.argv[1]), {{"{EXERCISE}": ("right", "1" * 16)}}, "en"))
"""
OLD = {f"ch90_one.old{n}": {"outcome": "right", "answer": "0" * 16} for n in range(60)}


def saving(folder, *words):
    command = [sys.executable, "-c", SAVES, str(folder), *words]
    return subprocess.Popen(command, cwd=HERE.parent, stdout=subprocess.PIPE, text=True)


def noted(folder):
    return json.loads((folder / ".state.json").read_text())


@pytest.fixture
def folder(tmp_path):
    (tmp_path / ".state.json").write_text(json.dumps(OLD))
    return tmp_path


def test_two_that_save_at_once_lose_nothing(folder):
    both = [saving(folder, name) for name in ("a", "b")]
    assert [process.communicate(timeout=600) and process.returncode for process in both] == [0, 0]
    assert noted(folder).keys() == {*OLD, *(f"ch90_one.{name}{n}" for name in "ab" for n in range(TIMES))}
    assert [path.name for path in folder.iterdir()] == [".state.json"]


def test_a_kill_while_saving_loses_nothing(folder):
    for n in range(3):
        process = saving(folder, "a", "endless")
        assert process.stdout is not None and process.stdout.readline() == "at it\n"
        time.sleep(0.022 * n)  # at another place of it each time
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert noted(folder).keys() >= {*OLD, "ch90_one.a0"}


def test_a_full_disk_keeps_the_old_record_and_says_so(folder):
    """In a process of its own, of which no file but a pipe is written under the limit."""
    done = subprocess.run([sys.executable, "-c", FULL, folder], cwd=HERE.parent, stdout=subprocess.PIPE, text=True)
    assert done.stdout == f"Your progress could not be saved in {folder.name}/.state.json: File too large.\n"
    assert noted(folder) == OLD
    assert [path.name for path in folder.iterdir()] == [".state.json"]


def test_pytest_says_it_once_and_gives_its_verdicts(root):
    answer(root, "ch90_one", (root / "solutions/ch90_one.py").read_text())
    (root / "answers/.state.json").write_text(json.dumps(OLD))
    (root / "answers/.state.json").chmod(0o444)
    done = check(root, "-k", "count_to")
    assert "1 passed" in done.text, done.text
    assert done.text.count("could not be saved in answers/.state.json: Permission denied") == 1, done.text
    assert noted(root / "answers") == OLD


def test_the_learners_screen_says_it_once(root):
    sentences = []
    (root / "answers").mkdir()
    (root / "answers/.state.json").mkdir()  # nothing can take its place
    session = Session(Course(root, "en"), silent(sentences.append), 20, 2)
    session.go("ch90_one.total")
    session.go("ch90_one.double")
    assert [s.partition(":")[0].rpartition(" ")[2] for s in sentences] == ["answers/.state.json"]


@pytest.mark.parametrize("torn", ['{"ch90_one.double": {"outc', "", "[]", "\x00" * 40, "[" * 100_000])
def test_a_torn_record_is_laid_aside_and_said(folder, torn):
    (folder / ".state.json").write_text(torn)
    assert progress.load_state(folder) == {}
    said = progress.save_state(folder, {EXERCISE: ("right", "1" * 16)}, "en")
    assert said.startswith(f"{folder.name}/.state.json") and f"renamed to {folder.name}/.state.json.unreadable" in said
    assert (folder / ".state.json.unreadable").read_text() == torn
    assert noted(folder) == {EXERCISE: {"outcome": "right", "answer": "1" * 16}}
    assert progress.save_state(folder, {}, "en") == ""
    (folder / ".state.json").write_text("[")  # once more: the first copy stays
    assert f"renamed to {folder.name}/.state.json.unreadable-2" in progress.save_state(folder, {}, "en")
    assert (folder / ".state.json.unreadable").read_text() == torn


def test_who_waits_too_long_says_so(folder, monkeypatch):
    monkeypatch.setattr(files, "PATIENCE", 0.05)
    held = os.open(folder, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    said = progress.save_state(folder, {EXERCISE: ("right", "1" * 16)}, "en")
    os.close(held)
    assert "another process has held the lock for too long" in said
    assert noted(folder) == OLD


def test_odd_numbers_of_hints_and_an_odd_outcome_count_for_none(root):
    (root / "answers").mkdir()
    for odd in ("null", '"2"', "-7", "2.5", "[1]", "true", "{}"):
        (root / "answers/.hints.json").write_text(f'{{"{EXERCISE}": {odd}}}')
        text, warning = progress.next_hint(root / "lessons", root / "answers", EXERCISE, "en")
        assert text.startswith("Hint 1 of 2") and warning == ""
        assert progress.hints_given(root / "answers") == {EXERCISE: 1}
    print_ = progress._fingerprint(root / "answers", EXERCISE)
    for odd in (None, 7, [], "weird", {}):
        state = {EXERCISE: {"outcome": odd, "answer": print_}}
        assert progress.cached_outcome(root / "answers", EXERCISE, state) is None
