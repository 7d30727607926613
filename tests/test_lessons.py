"""The lessons themselves: blanks fail, right answers pass however they are written, mistakes are named."""

import ast
import collections
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from verdicts import verdicts

ROOT = Path(__file__).resolve().parents[1]
CHAPTERS = sorted(p.parent.name for p in ROOT.glob("lessons/ch*/exercises.py"))
LANGUAGES = ("en", "zh-Hans")
LONG = pytest.mark.long
SCRIPTS = ("start", "ch01_devices", "ch10_processes")  # run in every `make test`; the book executes the cells of all


def functions(path: Path) -> list[str]:
    """The names of the public functions at the top of a Python file."""
    return [n.name for n in ast.parse(path.read_text()).body if isinstance(n, ast.FunctionDef) and n.name[0] != "_"]


def exercises(chapter: str) -> list[str]:
    return functions(ROOT / "lessons" / chapter / "exercises.py")


def mistakes(path: Path) -> dict[str, list[str]]:
    """{exercise: its mistakes} of a file whose functions are called `exercise__mistake`."""
    found = collections.defaultdict(list)
    for name in functions(path):
        if "__" in name:
            found[name.split("__")[0]].append(name)
    return found


def spelled(chapter: str, spelling: str) -> Path:
    """Where the first spelling of the mistakes stands (in the lesson), and the second (here)."""
    first, second = ROOT / "lessons" / chapter / "mistakes.py", ROOT / "tests/wrong" / f"{chapter}.py"
    return first if spelling == "first" else second


def check(answers: Path, report: Path, chapter: str = "") -> tuple[int, dict[str, dict]]:
    """`pytest lessons/` on a folder of answers: its exit status, and the report by exercise."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"lessons/{chapter}"]
    run = subprocess.run(
        [*command, f"--answers={answers}", f"--report={report}"], cwd=ROOT, capture_output=True, text=True, timeout=900
    )
    assert report.exists(), run.stdout + run.stderr
    return run.returncode, {row["exercise"]: row for row in json.loads(report.read_text())}


def outcomes(rows: dict[str, dict]) -> dict[str, str]:
    return {name: row["outcome"] for name, row in rows.items()}


def everything(outcome: str) -> dict[str, str]:
    return {f"{c}.{e}": outcome for c in CHAPTERS for e in exercises(c)}


def test_every_blank_is_todo(tmp_path):
    for chapter in CHAPTERS:
        blank = ROOT / "lessons" / chapter / "exercises.py"
        (tmp_path / f"{chapter}.py").write_text(blank.read_text())
    status, rows = check(tmp_path, tmp_path / "report.json")
    assert outcomes(rows) == everything("todo")
    assert status == 1


@pytest.mark.parametrize("answers", ["solutions", "tests/right_a", pytest.param("tests/right_b", marks=LONG)])
def test_a_right_answer_passes_however_it_is_written(answers, tmp_path):
    status, rows = check(ROOT / answers, tmp_path / "report.json")
    wrong = [row["message"] for row in rows.values() if row["outcome"] != "right"]
    assert outcomes(rows) == everything("right"), "\n\n".join(wrong)
    assert status == 0


@pytest.mark.parametrize("spelling", ["first", pytest.param("second", marks=LONG)])
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_mistake_is_wrong_and_gets_its_name(chapter, spelling, tmp_path):
    source = spelled(chapter, spelling)
    expected = [name for several in mistakes(source).values() for name in several]
    found = verdicts(chapter, source, expected, tmp_path)
    unnamed = [v["message"] for name, v in found.items() if v["mistake"] != name]
    assert {name: v["mistake"] for name, v in found.items()} == {n: n for n in expected}, "\n\n".join(unnamed)
    assert {v["outcome"] for v in found.values()} <= {"wrong", "hung"}


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_lesson_is_complete(chapter):
    """Four exercises; each solved, with hints, mistakes and their words, all of it in both languages."""
    names = exercises(chapter)
    assert len(names) == 4
    assert functions(ROOT / "solutions" / f"{chapter}.py") == names
    words = tomllib.loads((ROOT / "lessons" / chapter / "words.toml").read_text())
    known = mistakes(spelled(chapter, "first"))
    assert list(words) == names
    assert {k: sorted(v) for k, v in known.items()} == {
        k: sorted(v) for k, v in mistakes(spelled(chapter, "second")).items()
    }
    for exercise in names:
        entry = words[exercise]
        assert len(known[exercise]) >= 3
        assert {f"{exercise}__{m}" for m in entry["mistakes"]} == set(known[exercise])
        for language in LANGUAGES:
            assert entry["title"][language]
            assert len(entry["hints"][language]) == len(entry["hints"]["en"]) >= 3
            assert all(m["name"][language] and m["text"][language] for m in entry["mistakes"].values())


@pytest.mark.parametrize(
    "lesson", [lesson if lesson in SCRIPTS else pytest.param(lesson, marks=LONG) for lesson in ["start", *CHAPTERS]]
)
def test_what_a_chapter_shows_runs_as_a_script(lesson, tmp_path):
    script = ROOT / "lessons" / lesson / "demo.py"
    run = subprocess.run(
        [sys.executable, "-W", "error", script], cwd=tmp_path, capture_output=True, text=True, timeout=600
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert not list(tmp_path.iterdir()), "a demo leaves files where it was started"
