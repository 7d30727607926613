"""A class in parts gives the report that it gives as a whole; a part that is missing or out of date is named."""

import csv
import subprocess

import pytest
from checker_runs import project
from class_runs import ROOT, check_class, command_for, hand_in, right, with_honest

from grader.classroom import integrity, parts
from grader.classroom.class_command import main
from grader.classroom.grading import Outcome
from grader.classroom.submissions import BadInput

WRONG = "def double(x):\n    return x\n"


def rows(folder):
    with open(folder.parent / "class-report/class.csv", newline="", encoding="utf-8-sig") as file:
        return list(csv.reader(file))


@pytest.mark.long
def test_the_parts_together_are_the_whole(tmp_path):
    root, folder = with_honest(tmp_path, ada="", bo=WRONG, cy="")
    check_class(folder, root)
    whole, page = rows(folder), tmp_path / "class-report/class.html"
    told = page.read_text(encoding="utf-8")
    page.unlink()

    def part(n, of):
        command = command_for(folder, root, "--part", f"{n}/{of}")
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)

    first = part(2, 4)  # one student; of the fourth part there is none
    assert first.returncode == 0, first.stdout + first.stderr
    assert "parts done: 1 of 4" in first.stdout and "before something changed: 1, 3, 4. Run" in first.stdout
    assert not page.exists()
    for n in (1, 3):
        part(n, 4)
    assert "parts done: 3 of 4" in part(3, 4).stdout
    assert "written:" in part(4, 4).stdout
    assert rows(folder) == whole
    same = [line for line in told.splitlines() if "<td" in line or "<h2" in line]
    assert same == [line for line in page.read_text(encoding="utf-8").splitlines() if "<td" in line or "<h2" in line]

    page.unlink()
    hand_in(folder, "bo", **right(root, "ch90_one"))  # mended, and handed in again
    late = part(1, 4)
    assert "before something changed: 2. Run" in late.stdout and not page.exists()
    part(2, 4)
    assert rows(folder)[2][2:] == rows(folder)[1][2:] and page.exists()


def test_a_part_that_is_none_is_told_in_one_sentence(tmp_path, capsys):
    for text in ("", "3", "0/2", "3/2", "1/0", "a/b", "1/2/3", "-1/2", "1/99999"):
        with pytest.raises(BadInput):
            parts.share(text)
    hand_in(tmp_path / "class", "ada", ch90_one="")
    status = main([str(tmp_path / "class"), "--root", str(project(tmp_path / "project")), "--part=3/2"])
    said = capsys.readouterr().err
    assert status == 2 and said.count("\n") == 1 and "3/10" in said


def test_everybody_is_in_one_part_and_a_damaged_part_counts_as_missing(tmp_path):
    class_ = [f"student {n}" for n in range(23)]
    several = [share.students(class_) for share in parts.share("1/7").all]
    assert sorted(sum(several, [])) == sorted(class_) and {len(part) for part in several} == {3, 4}
    lines = {"ada": {"ch01": (integrity.Line(3, "import gc", "gc"),)}}
    outcomes = {"ada": {"ch01.a": Outcome("wrong", "a__b", "no")}}
    part = parts.Part("k", outcomes, lines, {"ada": {"ch01.a": ("x",)}}, {"ada": ()}, ("class-limits",), (), 1.0, 2.0)
    path = parts.share("2/7").path(tmp_path)
    parts.write(path, part)
    assert parts.read(path, "k") == part and parts.read(path, "other") is None
    path.write_text(path.read_text()[:-9])
    assert parts.read(path, "k") is None
