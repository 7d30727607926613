"""The held-out answers and their grades belong together; what they are told `make held-out` sees."""

import tomllib

from grader.home import HERE
from publish.author import held_out
from publish.author.chapter_files import functions


def test_each_answer_has_a_grade_and_each_grade_an_answer():
    grades, held = tomllib.loads((held_out.FOLDER / "grades.toml").read_text(encoding="utf-8")), set()
    for file in held_out.FOLDER.glob("ch*.py"):
        asked = functions(HERE / "lessons" / file.stem / "exercises.py")
        held |= {f"{file.stem}.{name}" for name in functions(file) if name in asked}
    assert held == set(grades)
    for grade, said in grades.values():
        assert grade in held_out.GRADES and said == held_out.beginning(said)


def test_a_grade_counts_only_as_long_as_that_is_said_and_what_passes_is_told():
    rows = [
        {"exercise": "ch.a", "outcome": "wrong", "message": "Twice 12.5 of it.\nmore"},
        {"exercise": "ch.b", "outcome": "wrong", "message": "Something else"},
        {"exercise": "ch.c", "outcome": "right", "message": ""},
        {"exercise": "ch.d", "outcome": "todo", "message": "to be written"},
    ]
    grades = {"ch.a": ["useful", "Twice # of it."], "ch.b": ["useless", "What was said before"]}
    found = {answer.exercise: answer.grade for answer in held_out.graded(rows, grades)}
    assert found == {"ch.a": "useful", "ch.b": "", "ch.c": "passed"}
