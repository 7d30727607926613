"""`python -m lessons check CHAPTER --mutants`: which mutants are made, and which holes of the checks they show."""

import re
from pathlib import Path

import pytest
import warm_python
from small_chapter import LESSON, write

from grader.exercise.spec import Spec
from publish.author.chapter_files import ChapterFiles
from publish.author.mutants import mutants_of

ROOT = Path(__file__).resolve().parents[3]
RIGHT_A = """
def twice(n):
    if n == 3:
        return 6
    if n > 99:
        return n + n
    return 2 * n
"""


@pytest.fixture
def chapter(tmp_path) -> ChapterFiles:
    made = write(tmp_path)
    made.blanks.write_text(made.blanks.read_text().replace("n: int", "n: list[int]"))
    return made


def spec(chapter: ChapterFiles, **about) -> Spec:
    return Spec(LESSON, "twice", chapter.folder, lambda rng: [], **about)


def made(chapter: ChapterFiles, code: str, **about) -> set[str]:
    """What is changed in the mutants of an answer, but for the two that do harm."""
    chapter.solution.write_text(code)
    return {m.words for m in mutants_of(chapter.solution, spec(chapter, **about)) if "at the end" not in m.words}


PAIR = "lax.psum(n, ('x', 'y'))"
SPEC = "P('data', 'model')"
ORDER = "sorted(n, key=lambda d: d.id)"
MUTANTS = {
    "number < limit(n)": ["number <= limit(n)", "number >= limit(n)"],
    "lax.pmean(n, axes)": ["lax.psum(n, axes)", "n"],
    PAIR: ["n", *(PAIR.replace("psum", op) for op in ("pmean", "pmax"))]
    + [PAIR.replace("('x', 'y')", axes) for axes in ("('x',)", "('y',)", "('y', 'x')")],
    SPEC: ["P('model')"]
    + [
        f"P({axes})"
        for axes in ("None, 'model'", "'data', None", "'model', 'data'", "'model', 'model'", "'data', 'data'")
    ],
    ORDER: ["sorted(n)", "list(n)", ORDER.replace(")", ", reverse=True)")],
    "owner(n) or default": ["owner(n) and default", "owner(n)", "default", "default if owner(n) is None else owner(n)"],
    "numbers[:limit]": ["numbers[:]", "numbers[:limit + 1]", "numbers[:limit - 1]"],
}


def test_the_mutants_of_an_answer_are_these(chapter):
    for code, mutants in MUTANTS.items():
        assert made(chapter, f"def twice(n):\n    return {code}\n") == {f"{code} → {mutant}" for mutant in mutants}
    code = "def twice(n):\n    return [jax.process_count(), len(jax.devices())]\n"
    assert made(chapter, code) == set()  # another number counts only where there are several processes
    several = {"jax.process_count() → 2", "len(jax.devices()) → len(jax.local_devices())"}
    assert made(chapter, code, processes=2) == several


def test_what_an_answer_calls_changes_too_and_what_it_says_does_not(chapter):
    code = '''
def twice(n: P(4)) -> P(4):
    """Twice 5."""
    assert n < 6, 7
    if not n:
        raise ValueError(f"not {8 + n}")
    return _sum(n)

def _sum(n):
    return numbers + n

def other(n):
    return n * 9
'''
    expected = {"return numbers + n → return numbers - n", "return numbers + n → return numbers"}
    assert made(chapter, code) == expected | {f"if not n: → if {test}:" for test in ("n", "True", "False")}


def test_one_mutant_empties_the_list_that_it_is_given_and_one_leaves_a_setting_changed(chapter):
    words = {m.words for m in mutants_of(chapter.right[0], spec(chapter)) if "at the end" in m.words}
    setting = "at the end: __import__('jax').config.update('jax_default_device', __import__('jax').devices()[-1])"
    assert words == {setting, "at the end: n.clear()"}


def check(chapter: ChapterFiles) -> tuple[int, list[str]]:
    run = warm_python.run("lessons", ["check", f"--root={chapter.root}", "--mutants", "--seeds=6", "ch95"], ROOT, {})
    assert not run.stderr
    return run.returncode, re.sub(r"\d+ s\)", "… s)", run.stdout).splitlines()


def test_a_hole_is_found_and_one_that_is_in_the_dice_too(tmp_path):
    chapter = write(tmp_path)
    chapter.right[0].write_text(RIGHT_A)
    chapter.checks.write_text(chapter.checks.read_text().replace("10, 99, 3", "0, 5, 2"))
    (chapter.others / "same.toml").write_text(
        '[[same]]\nexercise = "twice"\nreason = "twice n either way"\n'
        'right_a = ["if n == 3: → if False:", "if n > 99: → if True:", "if n > 99: → if False:",'
        '"if n < 9: → if n < 8:", "return 2 * n → return 2 / n"]\n'
    )
    status, lines = check(chapter)
    right_a, listed = "lessons/ch95_small/others/right_a.py twice", "lessons/ch95_small/others/same.toml"
    assert status == 1
    *lines, last = lines
    at_times = [line for line in lines if re.search(r"[1-5] of 6 seeds catch this mutant, the others do not", line)]
    assert f"{right_a}: this mutant is caught, but listed in same.toml: return 2 * n → return 2 / n" in lines
    assert f"{listed}: twice right_a has no such mutant: if n < 9: → if n < 8:" in lines
    assert f"{right_a}: no seed catches this mutant: return n + n → return n - n" in lines
    assert at_times and all(line.startswith(right_a) for line in at_times), lines
    assert last.startswith(f"{LESSON}: to be mended: {len(lines)} (mutants: ") and "right: 3, seeds: 6; … s)" in last


def test_where_every_mutant_is_caught_or_listed_one_line_is_said(tmp_path):
    chapter = write(tmp_path)
    assert check(chapter) == (0, [f"{LESSON}: no hole (mutants: 11, caught: 11, right: 0, seeds: 6; … s)"])
