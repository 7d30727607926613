"""`python -m lessons check CHAPTER`: what it prints where something in a chapter does not hold."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import warm_python
from small_chapter import FACTS, LESSON, MISTAKES, OTHERS, named, words, write

from grader.exercise import chapters
from publish.author.chapter_files import ChapterFiles, incomplete

ROOT = Path(__file__).resolve().parents[3]
OTHER_ANSWERS = f"tests/data/other_answers/{LESSON}.py"


def check(root: Path, *chapters: str) -> SimpleNamespace:
    """What the command leaves: its exit status, a line for each finding, and the last line, without its seconds."""
    run = warm_python.run("lessons", ["check", f"--root={root}", *chapters], ROOT, {})
    *lines, last = run.stdout.splitlines() or [""]
    last = re.sub(r"\d+ s\)", "… s)", last)
    return SimpleNamespace(status=run.returncode, lines=lines, errors=run.stderr, last=last)


@pytest.fixture
def chapter(tmp_path) -> ChapterFiles:
    return write(tmp_path)


def test_a_chapter_that_holds_is_one_line_and_learners_read_what_checks_their_answers(chapter):
    (chapter.root / "answers").mkdir()
    (chapter.root / "answers" / f"{LESSON}.py").write_text("def twice(n):\n    return 3 * n\n")
    output = check(chapter.root, "ch95")
    assert output.errors.endswith(f"To check your answers, run `.venv/bin/pytest lessons/{LESSON}`.\n")
    assert (output.status, output.lines) == (0, [])
    assert output.last == f"{LESSON}: everything holds (exercises: 1, mistakes: 3, other answers: 6; … s)"


def test_each_answer_with_another_verdict_than_its_name_says_is_a_line(chapter):
    mistakes = MISTAKES | {"added": "n + n", "power": "pow(n, 2)"}
    chapter.mistakes.write_text(named("twice", mistakes))
    chapter.words.write_text(words(mistakes), encoding="utf-8")
    others = {"right": "n + n + n", "right_by_shifting": "n << 1", "added": "n * 2", "power": "n"}
    others |= {"halved": "n // 2 * 1.5", "is_right": "2 * n", "is_known": "n / 2"}
    chapter.other_answers.write_text(named("twice", OTHERS | others))
    output = check(chapter.root, LESSON)
    assert output.status == 1, output
    expected = {
        "lessons/ch95_small/mistakes.py twice__added: does the same as the solution in every case",
        "lessons/ch95_small/mistakes.py twice__power: does the same as twice__squared in every case",
        "lessons/ch95_small/mistakes.py twice__added: is right, not wrong and called twice__added",
        "lessons/ch95_small/mistakes.py twice__power: is wrong and called twice__squared, not wrong and called ",
        f"{OTHER_ANSWERS} twice__right: is wrong without a name, not right: The value is 1.5 × the right one.",
        f"{OTHER_ANSWERS} twice__added: is right, not wrong and called twice__added",
        f"{OTHER_ANSWERS} twice__power: is wrong without a name, not wrong and called twice__power: ",
        f"{OTHER_ANSWERS} twice__halved: is wrong without a name, not wrong and called twice__halved: ",
        f"{OTHER_ANSWERS} twice__is_right: is right, not wrong without a name",
        f"{OTHER_ANSWERS} twice__is_known: is wrong and called twice__halved, not wrong without a name: ",
    }
    absent = [text for text in expected if not any(line.startswith(text) for line in output.lines)]
    assert (absent, len(output.lines)) == ([], len(expected)), output
    shorter = check(chapter.root, LESSON, "--shorter")
    wrong = tuple(f"{OTHER_ANSWERS} twice__{why}:" for why in ("added", "power", "halved", "is_right", "is_known"))
    assert shorter.lines == [line for line in output.lines if not line.startswith(wrong)]


@pytest.mark.long
def test_a_mistake_that_ends_its_process_or_is_slow_is_judged_like_the_others(chapter):
    """Slow as on a busy machine: longer than a learner would wait for it."""
    mistakes = MISTAKES | {"ends": "__import__('os')._exit(3)", "slow": "__import__('time').sleep(3) or n"}
    chapter.mistakes.write_text(named("twice", mistakes))
    chapter.words.write_text(words(mistakes), encoding="utf-8")
    chapter.other_answers.write_text(named("twice", {"ends": mistakes["ends"], "slow": "n"}))
    places = ["lessons/ch95_small/mistakes.py twice__ends", f"{OTHER_ANSWERS} twice__ends"]
    assert [line.partition(":")[0] for line in check(chapter.root, LESSON).lines] == places


def test_a_wrong_solution_checks_that_cannot_be_run_and_an_unknown_chapter_are_the_only_line(chapter):
    chapter.solution.write_text("def twice(n):\n    return 3 * n\n")
    (line,) = check(chapter.root, LESSON).lines
    assert line.startswith("solutions/ch95_small.py twice: is broken, not right: ")
    assert "solution and oracle differ" in line
    chapter.checks.write_text("import no_such_module\ndef test_twice(check): pass\n")
    output = check(chapter.root, LESSON)
    (line,) = output.lines
    assert line.startswith("lessons/ch95_small/test_exercises.py: cannot be run: ModuleNotFoundError: No module named")
    assert (output.status, output.errors) == (1, "")
    output = check(chapter.root, "ch95", "ch96")
    assert (output.status, output.lines, output.last) == (2, [], "")
    assert output.errors == f"There is no chapter ch96; choose from {LESSON}.\n"


def test_other_answers_may_be_missing_and_are_judged_where_mistakes_are(chapter):
    chapter.other_answers.unlink()
    assert check(chapter.root, "ch95").last.startswith(f"{LESSON}: everything holds (exercises: 1, mistakes: 3, other")
    chapter.mistakes.unlink()
    chapter.other_answers.write_text(named("twice", {"right": "n"}))
    output = check(chapter.root, "ch95")
    assert f"{chapter.place(chapter.mistakes)}: is missing" in output.lines
    assert [line for line in output.lines if line.startswith(f"{OTHER_ANSWERS} twice__right: is wrong")]
    counts = "exercises: 1, mistakes: 0, other answers: 1"
    assert output.last == f"{LESSON}: faults: {len(output.lines)} ({counts}; … s)"


def test_a_chapter_may_be_called_without_its_zero():
    for wanted in ("ch3", "ch03", "ch3_sharding", "ch03_sharding"):
        assert chapters.named(ROOT / "lessons", wanted) == ["ch03_sharding"]
        assert chapters.named(ROOT / "lessons", wanted.replace("3", "33")) == []


@pytest.mark.parametrize(
    ("part", "text", "expected"),
    [
        ("blanks", "", ["exercises.py: contains no exercise"]),
        ("checks", "def test_half(check): pass", ["has no test for twice", "test for half should not be there"]),
        ("solution", "def half(n): pass", ["has no twice", "half should not be there"]),
        ("mistakes", named("twice", {"squared": "", "halved": ""}), ["twice has 2 mistakes; 3 are needed"]),
        ("mistakes", named("half", MISTAKES), ["mistakes.py half__squared: belongs to no exercise"]),
        ("checks", "def test_twice(check:\n", ["line 1: '(' was never closed"]),
        ("other_answers", named("half", OTHERS), ["half__squared: belongs to no exercise"]),
        ("other_answers", named("twice", OTHERS) * 2, ["twice__untouched: occurs twice"]),
        ("words", "[half]", ["has no entry [twice]", "entry [half] should not be there"]),
        ("words", "[", ["cannot be read: "]),
        (
            "words",
            re.sub("hints.*\n", "", words(MISTAKES)),
            ["has 0 hints in en; 3 are needed", "has 0 hints in zh-Hans; 3 are needed"],
        ),
        ("words", words(MISTAKES).replace(', "n + n"]', "]", 1), ["twice has 2 hints in en; 3 are needed"]),
        ("words", re.sub("name =.*\n", "", words(MISTAKES)), ["twice.mistakes.squared.name is missing"]),
        ("facts", "number = 95\npart = 1\n", ["chapter.toml: solve is missing: write `solve = 20`"]),
        ("facts", FACTS, ["[teaching] is missing"]),
        ("words", words(MISTAKES | {"more": ""}), ["words for twice__more should not be there"]),
    ],
)
def test_what_does_not_fit_the_rest_is_named(chapter, part, text, expected):
    getattr(chapter, part).write_text(text, encoding="utf-8")
    findings = [str(finding) for finding in incomplete(chapter)]
    assert [sentence for sentence in expected if not any(sentence in line for line in findings)] == [], findings


def test_with_a_chapter_help_is_the_authors_and_without_one_the_learners_whose_are_the_options_of_pytest():
    for arguments, status, first in [
        (["ch03", "--help"], 0, "Check that a chapter's files are complete"),
        (["--help"], 0, "Check your answers to the exercises of the given chapters"),
        (["ch96", "--hint"], 2, "There is no chapter ch96; choose from ch01_devices, "),
    ]:
        run = warm_python.run("lessons", ["check", *arguments], ROOT, {})
        assert run.returncode == status and first in (run.stderr if status else run.stdout)
