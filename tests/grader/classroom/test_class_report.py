"""The class report: the table of spreadsheets, and the page in a headless Chromium, also for a very large class."""

import csv
import random
from pathlib import Path
from types import SimpleNamespace

import chromium
import pytest

from grader.classroom import integrity
from grader.classroom.grading import OUTCOMES, ClassGrading, Outcome
from grader.classroom.results import tally
from grader.classroom.results.class_page import ClassRun, write_page
from grader.classroom.results.spreadsheet import write_csv
from grader.classroom.submissions import Student
from grader.exercise.spec import Settings

VALUES = {"limit": "20", "memory": "2", "processes": 512, "more": "0.75", "told": "ch01_one.a"}


def course(outcomes, lang="en"):
    """A course in which this was seen: student -> exercise -> Outcome."""
    students = [Student(name, Path(name), {"ch01_one": Path("ch01_one.py")}) for name in outcomes]
    exercises = list(next(iter(outcomes.values())))
    settings, catalogue = Settings(Path("/submissions"), seed=7), SimpleNamespace(exercises=exercises)
    return ClassGrading(Path("/nowhere"), students, settings, lang, catalogue, exercises, outcomes)  # type: ignore[arg-type]


def large(lang):
    rng = random.Random(1)
    exercises = [f"ch{n:02}_chapter.exercise_with_a_name_{k}" for n in range(1, 17) for k in range(4)]
    names = ["Ada", "Bo", "李雷", "José Ångström", "O'Neil", *(f"student {n}" for n in range(24))]
    names += ["<script>alert(1)</script> with a long name that does not end soon at all"]
    drawn = {s: {e: Outcome(rng.choice(OUTCOMES), message="said\n" + "long " * 60) for e in exercises} for s in names}
    return course(drawn, lang)


def test_the_table_is_safe_in_a_spreadsheet(tmp_path):
    names = ["=1+1", "+1", "-1", "@x", "\tx", "＝1", "a;=HYPERLINK(1)", "\xa0=1", 'a "b", c', "张三", "plain"]
    seen = {name: {"ch01_one.a": Outcome("wrong", "a__off_by_one"), "ch01_one.b": Outcome("right")} for name in names}
    write_csv(tmp_path / "t.csv", course(seen))
    with open(tmp_path / "t.csv", newline="", encoding="utf-8-sig") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["student", "solved", "exercises", "ch01_one.a", "ch01_one.b", "to read"]
    assert [row[0] for row in rows[1:]] == [*(f"'{name}" for name in names[:8]), *names[8:]]
    assert all(row[1:] == ["1", "2", "wrong: off_by_one", "right", "0"] for row in rows[1:])


def test_fewest_solved_comes_first_with_the_commonest_outcome():
    def of(*words):
        return dict(zip(["c.a", "c.b", "c.c"], (Outcome(*w.split()) for w in words), strict=True))

    seen = {"x": of("right", "wrong b__m", "right"), "y": of("todo", "wrong b__m", "right")}
    seen |= {"z": of("wrong a__k", "hung", "right"), "u": of("right", "right", "right")}
    made = course(seen)
    rows = tally.stuck(made)
    told = [(row.exercise, row.solved, row.commonest) for row in rows]
    assert told == [("c.b", 1, ("wrong", 2)), ("c.a", 2, ("wrong", 1))]
    assert rows[0].mistakes == [("b__m", 2)]
    assert tally.mistakes(made) == [("c.b", "b__m", ["x", "y"]), ("c.a", "a__k", ["z"])]


def test_a_part_without_isolation_is_told_first(tmp_path):
    path, made = tmp_path / "class.html", course({"x": {"ch01_one.a": Outcome("right")}})
    for about, alarms in ((["class-isolation-bwrap"], 0), (["class-isolation-bwrap", "class-isolation-none"], 1)):
        write_page(path, ClassRun(made, "/submissions", about, VALUES, [], [], "2026-11-21 12:00"))
        assert path.read_text(encoding="utf-8").count('<div class="open">') == alarms


@pytest.mark.skipif(chromium.executable() is None, reason="there is no Chromium on this machine")
@pytest.mark.parametrize("lang", ["en", pytest.param("zh-Hans", marks=pytest.mark.long)])
def test_sixty_four_exercises_of_thirty_students_stay_readable(tmp_path, lang):
    about = ["class-isolation-none", "class-limits", "class-outside", "class-told", "class-code"]
    path = tmp_path / "class.html"
    course = large(lang)
    course.lines_to_read["Ada"] = {"ch01_chapter": (integrity.Line(3, "import gc  # <b>", "gc"),)}
    course.alike = [integrity.Pair("Ada", "Bo", ("ch01_chapter.a", "ch01_chapter.b"), 3)]
    others = [("<i>.txt", "class-unknown")]
    write_page(path, ClassRun(course, "/submissions", about, VALUES, ["/x/<b>.py"], others, "2026-11-21 12:00"))
    with chromium.Browser() as browser:
        for width, dark in ((1280, False), (1280, True), (390, False)):
            browser.look(width, 900, dark)
            browser.open(path.as_uri())
            assert browser.run("document.documentElement.scrollWidth") <= width
            assert browser.run("document.querySelectorAll('.grid tbody td').length") == 65 * 30
            assert browser.run("document.querySelectorAll('b b, li i, script').length") == 0
            texts = "[...document.querySelectorAll('.grid td[title]')].every(c => c.querySelector('.sr').textContent)"
            assert browser.run(texts)
            frame = "document.querySelector('.frame')"
            left, top = browser.run(
                f"(f => {{ f.scrollTo(900, 400); r = f.getBoundingClientRect(); return [r.left, r.top] }})({frame})"
            )
            who = "document.querySelector('.grid tbody tr:nth-child(20) .who').getBoundingClientRect().left"
            head = "document.querySelector('.grid .names th:nth-child(30)').getBoundingClientRect().top"
            assert abs(browser.run(who) - left) < 3
            assert abs(browser.run(head) - top - 32) < 4
        browser.run("location.hash = document.querySelector('.grid td a').getAttribute('href')")
        browser.wait_for("document.querySelector('details[open] h3:target') !== null")
        assert browser.errors == []
        assert [url for url in browser.requests if not url.startswith(path.as_uri())] == []
