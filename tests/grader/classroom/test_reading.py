"""What is read and not run: whose file is whose, the lines that a teacher should read, answers that are alike.

And the child that reads: a submission may take for ever to read, fill the memory or end Python.
"""

import functools
import os
import signal
import sys
import time
import unicodedata

import psutil
import pytest
from class_runs import hand_in

from grader.classroom import changed_files, integrity, reading
from grader.classroom.submissions import find
from minipod.processes import children
from minipod.processes.memory_watch import held

BLANK = "import jax\nfrom minipod.traffic import Link\n"
TELLING = """
import gc, jax
import numpy as np
from minipod.traffic import Link
from grader.see import observe
import os.path as p
def f(x):
    jax.jit = lambda g: g
    y = x.__globals__
    np.sum(x)
    setattr(jax, "a", 1)
    x.a = 2
    return getattr(x, "f_back")
"""


def test_the_lines_that_reach_beyond_an_exercise_are_named_and_no_others():
    found = {line.number: line.why for line in integrity.lines_to_read(TELLING, BLANK)}
    assert found == {
        2: "gc",
        5: "grader.see.observe",
        6: "os.path",
        8: "jax.jit = …",
        9: "__globals__",
        11: "setattr",
        13: "'f_back'",
    }


def test_who_renames_the_variables_still_has_the_same_answer():
    one = "def f(x, mesh):\n    '''Mine.'''\n    total = x.sum()\n    parts = x / total\n    return parts * 2\n"
    other = "def f(a, m):\n    t = a.sum()  # all\n    p = a / t\n    return p * 2\n"
    third = "def f(a, m):\n    t = a.mean()\n    return a * 2 / t / len(a)\n"
    assert integrity.shape(one, "f") == integrity.shape(other, "f") != integrity.shape(third, "f")

    def answers(source):
        return {f"ch.{n}": integrity.shape(source.replace("2", str(n)), "f") for n in (3, 4, 5)}

    class_ = {"ada": answers(one), "bo": answers(other), "cy": answers(third)}
    assert integrity.alike(class_) == [integrity.Pair("ada", "bo", ("ch.3", "ch.4", "ch.5"), 3)]
    crowd = {name: answers(one) for name in "abcdef"}  # an answer that everybody gives says nothing
    assert integrity.alike(crowd) == []


def test_a_nested_folder_is_read_and_a_misnamed_file_is_named(tmp_path):
    hand_in(tmp_path, "ada/answers", ch90_one="x = 1\n")
    hand_in(tmp_path, "bo", **{"ch90_one (1)": "x = 1\n", "ch90_one - Copy": "", "other": ""})
    students, _ = find(tmp_path, ["ch90_one"])
    ada, bo = students
    assert ada.files == {"ch90_one": tmp_path / "ada/answers/ch90_one.py"}
    assert ada.reader()(tmp_path / "ada/ch90_one.py").source == "x = 1\n"
    assert bo.lessons == [] and bo.refused == {}
    assert [key for _, key in bo.notes] == ["class-misnamed", "class-misnamed", "class-unknown"]


def test_two_names_that_look_the_same_are_two_students_and_are_noted(tmp_path):
    composed, apart = unicodedata.normalize("NFC", "José"), unicodedata.normalize("NFD", "José")
    for name in (composed, apart, "a\u2028b", "a\\u2028b"):
        hand_in(tmp_path, name, ch90_one="x = 1\n")
    students, _ = find(tmp_path, ["ch90_one"])
    assert len({student.name for student in students}) == 4
    assert all(("", "class-same-name") in student.notes for student in students)


def test_a_change_is_seen_though_its_time_is_set_back(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "python"))  # other tests may compile modules in the real one
    root = tmp_path / "project"
    path = root / "grader/__pycache__/x.pyc"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"one")
    twin = root / "twin.py"
    twin.write_text("a = 1\n")
    os.link(twin, root / "other.py")
    before = changed_files.fingerprints(root, tmp_path / "class", root, walls=False)
    time.sleep(0.02)
    for changed, text in ((path, "two"), (twin, "a = 2\n")):
        about = changed.stat()
        changed.write_text(text)
        os.utime(changed, ns=(about.st_atime_ns, about.st_mtime_ns))
    after = changed_files.fingerprints(root, tmp_path / "class", root, walls=False)
    assert changed_files.changes(before, after) == sorted(map(str, [path, twin, root / "other.py"]))


def test_memory_files_count_though_nobody_maps_them():
    before = held([os.getpid()])
    file = os.memfd_create("held")
    os.write(file, bytes(64 << 20))
    after = held([os.getpid()])
    os.close(file)
    assert 60 << 20 < after - before < 80 << 20


LINUX = pytest.mark.skipif(sys.platform != "linux", reason="no limit on memory elsewhere")


def test_what_the_function_returns_comes_back():
    assert reading.apart(lambda: {"a": [1, None, "ü"]}, seconds=300, memory=1) == {"a": [1, None, "ü"]}
    assert reading.apart(lambda: "x" * 10_000_000, seconds=300, memory=1) == "x" * 10_000_000  # more than a pipe takes


@pytest.mark.parametrize(
    ("function", "seconds"),
    [
        (lambda: 1 / 0, 300),
        (sys.exit, 300),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), 300),
        (lambda: "x" * (reading.LARGEST + 1), 300),
        (lambda: object(), 300),
        (lambda: functools.reduce(lambda deeper, _: [deeper], range(100_000), []), 300),
        pytest.param(lambda: len(bytearray(3 << 30)) and "so much", 300, marks=LINUX),
        (lambda: time.sleep(10_000), 0.5),
    ],
)
def test_who_does_not_come_to_the_end_is_nothing(function, seconds):
    before = children()
    assert reading.apart(function, seconds=seconds, memory=1) is None
    assert children() == before


def test_it_has_none_of_our_files_and_nothing_to_say(capfd, tmp_path):
    ours = psutil.Process().num_fds()
    with (tmp_path / "open").open("w"):
        opened = reading.apart(lambda: sorted(os.listdir("/dev/fd")), seconds=300, memory=1)
    assert opened is not None and len(opened) <= 5  # stdin, stdout, stderr, the pipe, and the list itself
    assert reading.apart(lambda: [os.write(1, b"seen"), os.write(2, b"seen")], seconds=300, memory=1) == [4, 4]
    assert capfd.readouterr() == ("", "")
    assert psutil.Process().num_fds() == ours
