"""The held-out answers and their grades belong together; what they are told `make held-out` sees."""

import tomllib

import pytest

from grader.author import held_out
from grader.author.chapter_files import functions
from grader.home import HERE

GRADES = tomllib.loads((held_out.FOLDER / "grades.toml").read_text(encoding="utf-8"))


def exercises(lesson: str) -> set[str]:
    return {f"{lesson}.{name}" for name in functions(HERE / "lessons" / lesson / "exercises.py")}


FEWEST = {"two_c": 30, "right": 60, "right_d": 30}  # the others have an answer to nearly every exercise


@pytest.mark.parametrize("name", held_out.SETS)
def test_each_wrong_answer_has_a_grade_and_each_grade_an_answer(name: str):
    files = sorted((held_out.FOLDER / name).glob("ch*.py"))
    held = {f"{file.stem}.{f}" for file in files for f in functions(file)} & set.union(
        *map(exercises, (f.stem for f in files))
    )
    assert len(held) > FEWEST.get(name, 50)
    if name in held_out.RIGHT:
        assert name not in GRADES
        return
    assert held == set(GRADES[name])
    for grade, said in GRADES[name].values():
        assert grade in held_out.GRADES and said == held_out.beginning(said)


def test_a_grade_counts_only_as_long_as_that_is_said_and_what_passes_is_told():
    rows = [
        {"exercise": "ch.a", "outcome": "wrong", "message": "Twice 12.5 of it.\nmore"},
        {"exercise": "ch.b", "outcome": "wrong", "message": "Something else"},
        {"exercise": "ch.c", "outcome": "right", "message": ""},
        {"exercise": "ch.d", "outcome": "todo", "message": "to be written"},
    ]
    grades = {"a": {"ch.a": ["named", "Twice # of it."], "ch.b": ["named", "What was said before"]}}
    found = {answer.exercise: answer.grade for answer in held_out.graded("a", rows, grades)}
    assert found == {"ch.a": "named", "ch.b": "", "ch.c": "passed"}
    right = {answer.exercise: answer.grade for answer in held_out.graded("right", rows, {})}
    assert right == {"ch.a": "refused", "ch.b": "refused", "ch.c": "accepted"}


def test_a_set_without_the_chapters_asked_for_judges_nothing(monkeypatch):
    monkeypatch.setattr(held_out.subprocess, "run", lambda *_, **__: pytest.fail("all lessons are judged"))
    assert held_out.judged("two_c", ["ch20_serving"]) == []
