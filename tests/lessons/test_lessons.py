"""The lessons themselves: what their authors wrote holds, what chapters show runs."""

import json
import subprocess
import sys
from pathlib import Path

import projects
import pytest

from publish import checked
from publish.author.chapter_files import functions

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = checked.chapters()
LONG, RARELY = pytest.mark.long, pytest.mark.rarely


def check(answers: Path, report: Path) -> tuple[int, dict[str, dict]]:
    """`pytest lessons/` on a folder of answers: its exit status, and the report by exercise."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "lessons/"]
    run = subprocess.run(
        [*command, f"--answers={answers}", f"--report={report}"], cwd=ROOT, capture_output=True, text=True, timeout=1800
    )
    assert report.exists(), run.stdout + run.stderr
    return run.returncode, {row["exercise"]: row for row in json.loads(report.read_text())}


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_all_that_the_author_of_a_chapter_wrote_holds(chapter):
    """Nothing is missing, right answers pass, mistakes are named; what held as all of it is now is not tried again."""
    if checked.held().get(chapter) != checked.sum_of(chapter):
        holds(chapter, checked.command(chapter))


# two of Part I in each `make test-long`: what compiles otherwise is a compiler's, and that is one for all
@pytest.mark.parametrize(
    "chapter", [pytest.param(c, marks=LONG if "ch02" < c < "ch04" else [LONG, RARELY]) for c in CHAPTERS]
)
def test_it_holds_as_a_learners_answers_are_compiled_however_it_is_written(chapter):
    holds(chapter, [sys.executable, "-m", "lessons", "check", chapter, "--optimized"])


def holds(chapter: str, command: list[str]) -> None:
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1800)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.splitlines()[-1].startswith(f"{chapter}: everything holds")


def test_whatever_a_check_reads_makes_it_another_check(tmp_path):
    root = projects.copy(tmp_path / "project")
    before = checked.sum_of("ch03_sharding", root)
    for path in (
        "lessons/ch03_sharding/mistakes.py",
        "lessons/ch03_sharding/words.toml",
        "tests/data/other_answers/ch03_sharding.py",
        "solutions/ch03_sharding.py",
        "grader/judge/compare.py",
        "grader/see/observe.py",
        "minipod/traffic/bill.py",
        "minipod/forked/forking.py",
    ):
        with (root / path).open("a") as file:
            file.write("# changed\n")
        assert before != (before := checked.sum_of("ch03_sharding", root)), path


@pytest.mark.long
def test_solutions_pass_in_one_run_of_all_chapters(tmp_path):
    status, rows = check(ROOT / "solutions", tmp_path / "report.json")
    wrong = [row["message"] for row in rows.values() if row["outcome"] != "right"]
    assert status == 0 and not wrong, "\n\n".join(wrong)
    assert set(rows) == {f"{c}.{e}" for c in CHAPTERS for e in functions(ROOT / "lessons" / c / "exercises.py")}


@pytest.mark.long
@pytest.mark.rarely
def test_no_held_out_answer_passes(tmp_path):
    """Wrong answers of people who had only the statements; no mistake and no message was written for them."""
    _, rows = check(ROOT / "tests/data/held_out", tmp_path / "report.json")
    assert [name for name, row in rows.items() if row["outcome"] == "right"] == []


@pytest.mark.parametrize(
    "lesson", ["start", "axes", *(pytest.param(chapter, marks=[LONG, RARELY]) for chapter in CHAPTERS)]
)
def test_what_a_chapter_shows_runs_as_a_script(lesson, tmp_path):
    script = ROOT / "lessons" / lesson / "demo.py"
    run = subprocess.run(
        [sys.executable, "-W", "error", script], cwd=tmp_path, capture_output=True, text=True, timeout=600
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert not list(tmp_path.iterdir()), "a demo leaves files where it was started"
