"""`python -m lessons class`: who solved what, by each kind of isolation; bad input; what is left alone."""

import os
import subprocess
import sys

import pytest
from checker_runs import project
from class_runs import KINDS, ROOT, check_class, hand_in, outcomes, right
from seldom import rarely
from still_running import running_with

from grader.classroom import class_command
from grader.classroom.class_command import main
from grader.classroom.submissions import BadInput, find, shown

WRONG = """
def double(x):
    return x ** 2

def total(x, mesh):
    return undefined

def count_to(n):
    import time
    time.sleep(1000)
"""


@pytest.mark.parametrize("kind", [KINDS[0], *rarely(*KINDS[1:])])
def test_right_wrong_and_todo_of_four_students_and_one_who_handed_in_nothing(tmp_path, kind):
    root, folder = project(tmp_path / "project"), tmp_path / "submissions"
    hand_in(folder, "ada", **right(root, "ch90_one", "ch91_pair"))
    hand_in(folder, "<b>bob", ch90_one=WRONG, ch91_pair="def everybody(x):\n    return float(sum(x.tolist()))\n")
    hand_in(folder, "=HYPERLINK(1)", ch90_one=(root / "lessons/ch90_one/exercises.py").read_text())
    hand_in(folder, "小明", ch90_one="def double(x):\n    return 2 * x  # total\n")
    hand_in(folder, "nothing")
    done, rows = check_class(folder, root, "--limit", "10", kind=kind)
    assert done.returncode == 0, done.stdout + done.stderr
    assert outcomes(rows["ada"]) == ["right"] * 4
    assert outcomes(rows["<b>bob"]) == ["wrong: squared", "wrong", "hung", "wrong: own"]
    assert outcomes(rows["'=HYPERLINK(1)"]) == ["todo", "todo", "todo", "absent"]
    assert outcomes(rows["小明"]) == ["right", "todo", "todo", "absent"]
    assert (folder / "小明/ch90_one.py").read_text() == "def double(x):\n    return 2 * x  # total\n"
    assert outcomes(rows["nothing"]) == ["absent"] * 4
    assert "students: 5; exercises: 4; right answers: 5 of 20; " in done.stdout
    page = (tmp_path / "class-report/class.html").read_text(encoding="utf-8")
    assert "<b>bob" not in page and "&lt;b&gt;bob" in page
    assert "squared" in page and "NameError" in page and "sleep(1000)" not in done.stdout
    assert ("was not otherwise isolated" in page) == (kind == "none")
    assert str(folder) + os.sep not in page.replace(f"{folder} ·", "")
    assert running_with(str(root)) == []


def test_bad_input_is_answered_by_one_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LC_ALL", "C")
    hand_in(tmp_path / "class", "ada")
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    for options, words in [
        (["nowhere"], "there is no such folder"),
        (["file"], "is not a folder"),
        (["empty"], "contains no student's folder"),
        (["class", "--out", "class/report"], "must not be among the submissions"),
        (["class", "--out", "file/report"], "nothing can be written there"),
        (["class"], "no student's folder contains an answers file"),
        (["class", "--lessons", "ch77"], "there is no such chapter"),
        (["class", "--lang", "fr"], "choose one of en, zh-Hans, zh-Hant"),
        (["class", "--memory", "nan"], "a finite number above 0"),
        (["class", "--jobs", "1.5"], "a whole number above 0"),
        (["class", "--seed", "-1"], "a whole number"),
    ]:
        assert main(options) == 2
        said = capsys.readouterr()
        assert words in said.err and said.err.count("\n") == 1 and said.out == ""


def test_what_is_not_an_answers_file_is_named_and_never_followed(tmp_path):
    folder = tmp_path / "class"
    hand_in(folder, "ada", ch90_one="x = 1\n", notes="")
    (folder / "ada/ch91_pair.py").symlink_to(folder / "ada/ch90_one.py")
    (folder / "bo").symlink_to(folder / "ada")
    hand_in(folder, "cy")
    os.mkfifo(folder / "cy/ch90_one.py")
    (folder / "cy/ch91_pair.py").write_bytes(b"\0\1\2")
    hand_in(folder, "di", ch90_one="#" * 2_000_000)
    (folder / "roster.txt").write_text("")
    (folder / ".hidden").mkdir()
    students, others = find(folder, ["ch90_one", "ch91_pair"])
    found = {s.name: (s.lessons, s.notes) for s in students}
    assert found == {
        "ada": (["ch90_one"], [("ch91_pair.py", "class-link"), ("notes.py", "class-unknown")]),
        "cy": ([], [("ch90_one.py", "class-no-file"), ("ch91_pair.py", "class-binary")]),
        "di": ([], [("ch90_one.py", "class-huge")]),
    }
    assert others == [("bo", "class-link"), ("roster.txt", "class-unknown")]
    with pytest.raises(BadInput):
        find(folder / "roster.txt", [])


def test_a_folder_for_the_report_that_exists_stays_as_it_is(tmp_path):
    (out := tmp_path / "shared").mkdir(mode=0o755)
    (out / ".class.html").write_text("mine")
    class_command._prepare_out(out, tmp_path / "class")
    assert out.stat().st_mode & 0o777 == 0o755 and [p.read_text() for p in out.iterdir()] == ["mine"]
    class_command._prepare_out(tmp_path / "new", tmp_path / "class")
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


@pytest.mark.long
def test_what_lies_in_the_working_folder_is_not_imported(tmp_path):
    root, folder = project(tmp_path / "project"), tmp_path / "submissions"
    hand_in(folder, "ada", ch91_pair="def everybody(x):\n    raise NotImplementedError\n")
    for name in ("rich", "minipod", "unicodedata", "tomllib"):
        (folder / f"{name}.py").write_text("raise SystemExit('imported')\n")
    command = [sys.executable, "-m", "lessons", "class", ".", "--root", str(root), "--lang", "en"]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0 and "right answers: 0 of 1" in done.stdout, done


def test_a_name_cannot_steer_a_terminal():
    assert shown("a\x1b[2Jb\nc\u202ed") == r"a\x1b[2Jb\nc\u202ed"
    assert shown(os.fsdecode(b"caf\xe9")) == r"caf\udce9"
    assert shown("张　三 é") == "张　三 é"
