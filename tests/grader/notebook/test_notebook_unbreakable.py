"""Whatever an answer does, the kernel lives on, the cells after it run, and nothing is left: every unbreakable case."""

import json
import os

import pytest
import unbreakable_cases as cases
from notebook_runs import run
from still_running import left_running

SOME = ("segfault", "pauses", "ten_gb", "right")
LONG = 100  # seconds
BEGIN = """import json
from pathlib import Path
from grader.notebook.desk import Desk
desk = Desk(Path({root!r}), limit={limit}, memory={memory})
desk.begin("en")
def tell(name):
    said = desk.check(name)
    print(json.dumps([said.word, said.text]))"""


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return cases.build(tmp_path_factory.mktemp("wild"))


def told(root, folder, expected, limit):
    """What is wrong with what a notebook says of these cases, as far as anything is."""
    marker = f"notebook-{os.getpid()}-{len(expected)}"
    lesson = next(iter(expected)).partition(".")[0]
    text = (cases.fill(root, "notebook") / f"{lesson}.py").read_text("utf-8")
    text = text.partition("def breaks(x)")[0]  # what does not parse never runs
    begin = BEGIN.format(root=str(root), limit=limit, memory=cases.MEMORY)
    checks = [f"tell({exercise!r})" for exercise in expected]
    first, answers, *said, last = run([begin, text, *checks, "print('alive')"], folder, MARKER_OF_TEST=marker)
    assert first.error == answers.error == "" and last.text == "alive\n"
    assert left_running(marker) == []
    odd, late = [], {}
    for (exercise, expectation), ran in zip(expected.items(), said, strict=True):
        word, message = json.loads(ran.text) if not ran.error else ("", ran.error)
        row = {"outcome": word, "message": message}
        if word == "hung" != expectation[0] or "TimeoutError" in message:
            late[exercise] = expectation  # on a busy machine
        else:
            odd.append(cases.unlike(row, exercise, expectation, "en", "…"))
    if late and limit < LONG:
        odd += told(root, folder, late, LONG)
    return [line for line in odd if line]


def of(lesson, names):
    every = cases.expected()
    return {f"{lesson}.{name}": every[f"{lesson}.{name}"] for name in names}


def test_a_kernel_survives_what_its_answers_do(root, tmp_path):
    assert told(root, tmp_path, of("ch30_one", SOME), cases.LIMIT) == []


@pytest.mark.long
def test_a_kernel_survives_every_answer(root, tmp_path):
    names = [n for n in cases.ONE if n not in (*cases.UNPARSED, "kills_parent")]
    assert told(root, tmp_path, of("ch30_one", names), cases.LIMIT) == []


@pytest.mark.long
def test_a_kernel_survives_every_pair(root, tmp_path):
    assert told(root, tmp_path, of("ch31_two", cases.TWO), cases.LIMIT_TWO) == []
