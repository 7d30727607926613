"""`python -m lessons check CHAPTER`: what an author is told when something in a chapter does not hold."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
import warm_python
from small_chapter import FACTS, LESSON, MISTAKES, SECOND, UNLISTED, named, words, write

from grader.exercise import chapters
from publish.author.chapter_files import ChapterFiles, incomplete

ROOT = Path(__file__).resolve().parents[3]
COUNTS = "exercises: 1, mistakes: 3, unlisted wrong answers: 10"
OTHERS = "lessons/ch95_small/others"


@dataclass
class Said:
    """What the command gave: its exit status, a line for each finding, and the last line, without its seconds."""

    status: int
    lines: list[str]
    errors: str
    last: str = ""


def check(root: Path, *chapters: str) -> Said:
    run = warm_python.run("lessons", ["check", f"--root={root}", *chapters], ROOT, {})
    *lines, last = run.stdout.splitlines() or [""]
    return Said(run.returncode, lines, run.stderr, re.sub(r"\d+ s\)", "… s)", last))


@pytest.fixture
def chapter(tmp_path) -> ChapterFiles:
    return write(tmp_path)


def test_of_a_chapter_that_holds_one_line_is_said_and_who_has_answers_is_told_what_checks_them(chapter):
    (chapter.root / "answers").mkdir()
    (chapter.root / "answers" / f"{LESSON}.py").write_text("def twice(n):\n    return 3 * n\n")
    said = check(chapter.root, "ch95")
    (yours,) = said.errors.splitlines()
    said.errors = ""
    assert said == Said(0, [], "", f"{LESSON}: everything holds ({COUNTS}; … s)")
    assert yours.endswith(f"Your answers are checked by `.venv/bin/pytest lessons/{LESSON}`.")


def test_each_answer_that_is_judged_otherwise_than_its_author_says_is_a_line(chapter):
    bad = MISTAKES | {"added": "n + n", "power": "pow(n, 2)"}
    chapter.mistakes.write_text(named("twice", bad))
    chapter.words.write_text(words(bad), encoding="utf-8")
    chapter.wrong.write_text(named("twice", SECOND | {"added": "n * 2", "power": "n", "halved": "n // 2 * 1.5"}))
    chapter.unlisted.write_text(named("twice", UNLISTED | {"is_right": "2 * n", "is_known": "n / 2"}))
    chapter.right[0].write_text("def twice(n):\n    return n + n + n\n")
    chapter.right[1].write_text("def twice(n):\n    return n * 2 + 1\n")
    said = check(chapter.root, LESSON)
    assert said.status == 1, said
    expected = {
        "lessons/ch95_small/mistakes.py twice__added: cannot be told from the solution by what it does",
        "lessons/ch95_small/mistakes.py twice__power: cannot be told from twice__squared by what it does",
        "lessons/ch95_small/mistakes.py twice__added: is right, not wrong and called twice__added",
        "lessons/ch95_small/mistakes.py twice__power: is wrong and called twice__squared, not wrong and called ",
        f"{OTHERS}/right_a.py twice: is wrong without a name, not right: It is right up to a factor: 1.5 times",
        f"{OTHERS}/right_b.py twice: is wrong without a name, not right: ",
        f"{OTHERS}/wrong.py twice__added: is right, not wrong and called twice__added",
        f"{OTHERS}/wrong.py twice__power: is wrong without a name, not wrong and called twice__power: ",
        f"{OTHERS}/wrong.py twice__halved: is wrong without a name, not wrong and called twice__halved: ",
        f"{OTHERS}/unlisted.py twice__is_right: is right, not wrong without a name",
        f"{OTHERS}/unlisted.py twice__is_known: is wrong and called twice__halved, not wrong without a name: ",
    }
    unsaid = [text for text in expected if not any(line.startswith(text) for line in said.lines)]
    assert (unsaid, len(said.lines)) == ([], len(expected)), said
    shorter = check(chapter.root, LESSON, "--shorter")
    left_out = tuple(f"{OTHERS}/{name}.py" for name in ("wrong", "right_b", "unlisted"))
    assert shorter.lines == [line for line in said.lines if not line.startswith(left_out)]
    assert "without second spellings" in shorter.last


@pytest.mark.long
def test_a_mistake_that_has_to_be_seen_alone_may_be_slow(chapter):
    """As on a busy machine: longer than a learner would wait for it."""
    listed = MISTAKES | {"ends": "__import__('os')._exit(3)", "slow": "__import__('time').sleep(3) or n"}
    chapter.mistakes.write_text(named("twice", listed))
    chapter.words.write_text(words(listed), encoding="utf-8")
    chapter.wrong.write_text(named("twice", listed | {"slow": "n"}))
    chapter.unlisted.write_text(named("twice", UNLISTED | {"untouched": "4 * n"}))
    said = check(chapter.root, LESSON)
    places = ["lessons/ch95_small/mistakes.py twice__ends", f"{OTHERS}/wrong.py twice__ends"]
    assert [line.partition(":")[0] for line in said.lines] == places, said


@pytest.mark.long
def test_too_many_unlisted_answers_of_which_only_the_difference_is_told_are_a_line(chapter):
    odd = {f"odd_{k}": f"(3 * n * n + {k}) // 7" for k in range(10)}
    chapter.unlisted.write_text(named("twice", odd))
    said = check(chapter.root, LESSON)
    (line,) = said.lines
    assert line.startswith(f"{OTHERS}/unlisted.py: 10 of 10 are told only what differs, more than 30%: ")
    assert all(f"twice__{why}: " in line for why in odd)


def test_what_is_judged_by_more_than_a_value_is_written_in_one_more_way(chapter):
    for path in chapter.optional:
        path.unlink()
    checks, lacks = chapter.checks.read_text(), [f"{OTHERS}/wrong.py: has no twice__{why}" for why in MISTAKES]
    for option, lines in [("", []), (", on_device=True", [*lacks, f"{OTHERS}/right_b.py: has no twice"])]:
        chapter.checks.write_text(checks.replace("2 * n)", f"2 * n{option})"))
        said = check(chapter.root, LESSON).lines
        assert [line.partition(": twice is judged by more than a value")[0] for line in said] == lines


def test_a_solution_that_is_wrong_is_the_only_line(chapter):
    chapter.solution.write_text("def twice(n):\n    return 3 * n\n")
    said = check(chapter.root, LESSON)
    (line,) = said.lines
    assert line.startswith("solutions/ch95_small.py twice: is broken, not right: ")
    assert "solution and oracle differ" in line
    assert said.status == 1


def test_what_is_there_is_judged_where_other_files_are_missing(chapter):
    chapter.mistakes.unlink()
    chapter.unlisted.unlink()
    chapter.right[0].write_text("def twice(n):\n    return n\n")
    said = check(chapter.root, "ch95")
    missing = [f"{chapter.place(path)}: is missing" for path in (chapter.mistakes, chapter.unlisted)]
    assert set(missing) <= set(said.lines)
    assert [line for line in said.lines if line.startswith(f"{OTHERS}/right_a.py twice: is wrong")]
    counts = "exercises: 1, mistakes: 0, unlisted wrong answers: 0"
    assert (said.status, said.errors) == (1, "")
    assert said.last == f"{LESSON}: to be mended: {len(said.lines)} ({counts}; … s)"


def test_checks_that_cannot_be_run_are_one_line(chapter):
    chapter.checks.write_text("import no_such_module\ndef test_twice(check): pass\n")
    said = check(chapter.root, LESSON)
    (line,) = said.lines
    words = "cannot be run: ModuleNotFoundError: No module named"
    assert line.startswith(f"lessons/ch95_small/test_exercises.py: {words}")
    assert (said.status, said.errors) == (1, "")


def test_an_unknown_chapter_is_one_sentence(chapter):
    said = check(chapter.root, "ch95", "ch96")
    assert said == Said(2, [], f"There is no chapter ch96; there are {LESSON}.\n")


def test_a_chapter_may_be_called_without_its_zero():
    for wanted in ("ch3", "ch03", "ch3_sharding", "ch03_sharding"):
        assert chapters.named(ROOT / "lessons", wanted) == ["ch03_sharding"]
        assert chapters.named(ROOT / "lessons", wanted.replace("3", "33")) == []


def _without(text: str) -> str:
    """All of words.toml but the lines that hold this."""
    return "\n".join(line for line in words(MISTAKES).splitlines() if text not in line)


@pytest.mark.parametrize(
    ("part", "text", "expected"),
    [
        ("blanks", "", ["exercises.py: holds no exercise"]),
        ("checks", "def test_half(check): pass", ["has no test for twice", "test for half is one too many"]),
        ("solution", "def half(n): pass", ["has no twice", "half is one too many"]),
        (
            "mistakes",
            named("twice", {"squared": "n * n", "halved": "n / 2"}),
            ["twice has 2 mistakes; 3 are the least"],
        ),
        ("mistakes", named("half", MISTAKES), ["mistakes.py half__squared: belongs to no exercise"]),
        ("wrong", named("twice", SECOND | {"more": "n"}), ["twice__more is one too many"]),
        ("wrong", named("twice", SECOND) * 2, ["has twice__as_text, twice__halved, twice__squared twice"]),
        ("checks", "def test_twice(check:\n", ["line 1: '(' was never closed"]),
        ("unlisted", named("twice", {"one": "n"}), ["holds 1 wrong answers; 10 are the least"]),
        ("unlisted", named("twice", UNLISTED) + named("half", SECOND), ["half__squared: belongs to no exercise"]),
        ("words", "[half]", ["has no entry [twice]", "entry [half] is one too many"]),
        ("words", "[", ["cannot be read: "]),
        ("words", _without("hints"), ["has 0 hints in en; 3 are needed", "has 0 hints in zh-Hans; 3 are needed"]),
        ("words", words(MISTAKES).replace(', "n + n"]', "]", 1), ["twice has 2 hints in en; 3 are needed"]),
        ("words", _without("name"), ["twice.mistakes.squared.name is missing"]),
        ("facts", "number = 95\npart = 1\n", ["chapter.toml: read is missing: write «read = 15»"]),
        ("facts", FACTS, ["[teaching] is missing", "has 0 tables [[elsewhere]]; 3 are the least"]),
        ("words", words(SECOND | {"more": ""}), ["words for twice__more is one too many"]),
    ],
)
def test_what_does_not_fit_the_rest_is_named(chapter, part, text, expected):
    getattr(chapter, part).write_text(text, encoding="utf-8")
    said = [str(finding) for finding in incomplete(chapter)]
    assert [words for words in expected if not any(words in line for line in said)] == [], said


def test_with_an_option_of_pytest_it_is_answers_that_are_checked():
    run = warm_python.run("lessons", ["check", "ch96", "--hint"], ROOT, {})
    assert run.returncode == 2 and run.stderr.startswith("There is no chapter ch96; there are ch01_devices, ")
