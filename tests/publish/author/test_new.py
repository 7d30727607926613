"""`python -m lessons new`: it writes the stubs of an exercise or a chapter; each is named until it is filled in."""

import subprocess
import sys
from pathlib import Path

import pytest
import warm_python
from small_chapter import LESSON, write

from publish.author.chapter_files import ChapterFiles, incomplete
from publish.author.new_command import main as new
from publish.author.templates import MARK, unfilled
from publish.languages import unwritten

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def chapter(tmp_path) -> ChapterFiles:
    return write(tmp_path)


def files(root: Path) -> dict[str, str]:
    return {str(p.relative_to(root)): p.read_text("utf-8") for p in root.rglob("*") if p.is_file()}


def make(root: Path, *arguments: str) -> int:
    return new([*arguments, f"--root={root}"])


def test_every_place_of_an_exercise_is_made_below_what_is_there_and_named_until_it_is_filled_in(chapter):
    before = files(chapter.root)
    assert make(chapter.root, "ch95", "thrice") == 0
    after = files(chapter.root)
    changed = {name for name in after if after[name] != before.get(name)}
    places = [chapter.blanks, chapter.checks, chapter.solution, chapter.mistakes, chapter.words]
    assert changed == {chapter.place(path) for path in places}
    assert all(after[name].startswith(before[name].rstrip("\n")) for name in changed)
    assert incomplete(chapter) == []
    findings = [str(finding) for finding in unfilled(chapter)]
    python = ["exercises.py thrice", "test_exercises.py test_thrice"]
    python += [f"mistakes.py thrice__{stub}" for stub in ("one", "three")]
    expected = [f"lessons/{LESSON}/{place}: line" for place in python]
    expected += [f"solutions/{LESSON}.py thrice: line"]
    words = ["title.en", "title.zh-Hans", "hints.en", "mistakes.one.name.en", "mistakes.two.text.zh-Hans"]
    expected += [f"lessons/{LESSON}/words.toml: thrice.{key} still says “FILL IN”" for key in words]
    assert [place for place in expected if not any(line.startswith(place) for line in findings)] == []
    chapter.other_answers.write_text(chapter.other_answers.read_text().replace("n + n", "n"))
    run = warm_python.run("lessons", ["check", "ch95", f"--root={chapter.root}"], ROOT, {})
    *lines, last = run.stdout.splitlines()
    (judged,) = [line for line in lines if "FILL IN" not in line]  # the other exercise is judged
    assert judged.startswith(f"tests/data/other_answers/{LESSON}.py twice__right: is wrong") and run.returncode == 1
    assert last.startswith(f"{LESSON}: faults: {len(lines)} (exercises: 2, ")
    filled(chapter)
    assert unfilled(chapter) == []


def filled(chapter):
    for path in [*chapter.python, chapter.words]:
        path.write_text(path.read_text("utf-8").replace(MARK, "done"), "utf-8")


def test_the_arguments_that_are_given_stand_in_every_place(chapter):
    assert make(chapter.root, "ch95", "rows_of(x: list, i)") == 0
    texts = {path: path.read_text("utf-8") for path in chapter.python if path.exists()}
    assert "def rows_of(x: list, i):" in texts[chapter.blanks] and "def rows_of(x: list, i):" in texts[chapter.solution]
    assert "\n\n    x: FILL IN.\n    i: FILL IN.\n    Returns FILL IN.\n\n" in texts[chapter.blanks]
    assert "\n\n    x：FILL IN。\n    i：FILL IN。\n    返回 FILL IN。\n" in texts[chapter.blanks]
    assert texts[chapter.mistakes].count("__one(x, i):") == 1 and incomplete(chapter) == []


def test_who_writes_one_language_has_finished_when_the_other_is_all_that_is_named(chapter):
    make(chapter.root, "ch95", "thrice", "--only=en")
    filled(chapter)
    assert (incomplete(chapter), unfilled(chapter)) == ([], [])
    words = f"lessons/{LESSON}/words.toml: thrice."
    said, wrong = unwritten(chapter.root, LESSON)
    assert wrong == []
    assert said[:2] == [f"{words}title.zh-Hans is missing", f"{words}hints.zh-Hans is missing"]
    for number, what in ((-2, "docstring"), (-1, "TODO")):
        assert said[number] == f"lessons/{LESSON}/exercises.py: the {what} of `thrice` has no part in zh-Hans"
    assert len(said) == 2 + 3 * 2 + 2


def test_the_files_of_a_chapter_are_made_formatted_and_can_have_an_exercise(chapter, capsys):
    assert make(chapter.root, "ch96_large") == 0
    made = ChapterFiles(chapter.root, "ch96_large")
    assert all(path.exists() for path in [*made.python, made.words, made.facts, *made.pages])
    assert [str(f) for f in incomplete(made)] == ["lessons/ch96_large/exercises.py: contains no exercise"]
    assert make(chapter.root, "ch96", "fourfold") == 0
    assert incomplete(made) == []
    assert any(line.startswith("book/en/ch96_large.md:") for line in map(str, unfilled(made)))
    for place in ("lessons/ruff.toml", "solutions/ruff.toml", "pyproject.toml"):
        (chapter.root / place).write_text((ROOT / place).read_text())
    where = [chapter.root / "lessons/ch96_large", chapter.root / "solutions/ch96_large.py"]
    for command in (["check"], ["format", "--check"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--no-cache", *map(str, where)]
        run = subprocess.run(ruff, capture_output=True, text=True)
        assert run.returncode == 0, run.stdout


def test_what_cannot_be_made_is_one_sentence_and_nothing_is_written(chapter, capsys):
    before = files(chapter.root)
    for arguments, sentence in [
        (["ch97", "thrice"], f"There is no chapter ch97; choose from {LESSON}."),
        (["ch95", "twice"], f"lessons/{LESSON}/exercises.py already has a function twice: choose a different name."),
        (["ch95", "2nd"], "`2nd` cannot be an exercise: its name must be a Python name in small letters, "),
        (["ch95", "rows_of(x, 2)"], "`rows_of(x, 2)` is not a function with its arguments, such as rows_of("),
        (["ch95", "rows_of()"], "`rows_of()` is not a function with its arguments, such as rows_of(x, mesh)"),
        (["ch95", "test_it"], "`test_it` cannot be an exercise: "),
        (["ch95"], "There is a chapter ch95_small already; `new ch95 NAME` adds an exercise to it."),
        (["ch95_other"], "ch95_small already has the number 95: choose a different one."),
        (["chapter"], "There is no chapter chapter, and a new one needs a name such as ch25_pipelines: "),
    ]:
        assert make(chapter.root, *arguments) == 2
        printed = capsys.readouterr()
        assert printed.err.startswith(sentence) and printed.err.count("\n") == 1 and printed.out == ""
    assert files(chapter.root) == before
    # a file is missing, or there already
    chapter.solution.unlink()
    (chapter.root / "solutions/ch96_large.py").write_text("mine\n")
    before = files(chapter.root)
    assert make(chapter.root, "ch95", "thrice") == make(chapter.root, "ch96_large") == 2
    missing, there = capsys.readouterr().err.splitlines()
    assert missing.startswith(f"solutions/{LESSON}.py is missing: ")
    assert there.startswith("There is a file solutions/ch96_large.py already: ")
    assert files(chapter.root) == before


def test_where_one_file_cannot_be_written_all_stay_as_they_were(chapter, capsys):
    chapter.words.chmod(0o444)
    before = files(chapter.root)
    assert make(chapter.root, "ch95", "thrice") == 2
    message = capsys.readouterr().err
    assert "words.toml cannot be written: " in message and "No file has changed." in message
    assert files(chapter.root) == before
