"""Learners who began before the chapter was what it is now: an exercise that their file lacks, or that was renamed."""

from pathlib import Path

import pytest
from checker_runs import SAMPLE, answer, check

from grader.exercise import answers
from grader.exercise.blanks import add_missing
from grader.exercise.exercises import Catalogue
from grader.exercise.spec import Settings
from grader.run import checking

BLANKS = SAMPLE / "lessons" / "ch90_one" / "exercises.py"
MINE = "import jax\n\n\ndef double(x):\n    return 2 * x  # total of two\n"


def added(root: Path, data: bytes, lang: str = "en") -> bytes:
    """What the blanks of ch90_one's other exercises add to an answers file."""
    path = root / "answers" / "ch90_one.py"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    path.chmod(0o640)
    add_missing(root / "lessons", path.parent, lang)
    after = path.read_bytes()
    assert after.startswith(data) and path.stat().st_mode & 0o777 == 0o640
    assert [p.name for p in path.parent.iterdir()] == ["ch90_one.py"]
    assert add_missing(root / "lessons", path.parent, lang) == [] and path.read_bytes() == after
    return after[len(data) :]


def test_what_a_chapter_gained_is_todo_and_its_blank_is_added(root):
    answer(root, "ch90_one", MINE)
    checked = check(root, "lessons/ch90_one")
    assert [row["outcome"] for row in checked.rows.values()] == ["right", "todo", "todo"]
    assert "Missing exercises were added at the end of answers/ch90_one.py: total, count_to." in checked.text
    written = (root / "answers/ch90_one.py").read_text()
    assert written.startswith(MINE + "\n\nfrom jax.sharding import Mesh\n\n\ndef total(x: jax.Array, mesh: Mesh)")
    assert "    # TODO: add.\n    raise NotImplementedError\n\n\ndef count_to" in written


def test_one_that_was_deleted_comes_back_though_others_call_it(root):
    mine = BLANKS.read_text().replace("def double", "def old_double") + "\nY = total, double, 'about double'\n"
    text = added(root, mine.encode()).decode()
    assert text.count("def ") == 1 and text.startswith("\n\ndef double(x: jax.Array)")


def test_what_comes_by_another_way_than_def_is_not_added(root):
    others = MINE.replace("double", "total") + "\n\ndef count_to(n):\n    return n\n\n\n"
    for line in [
        "double = lambda x: 2 * x",
        "from elsewhere import *",
        "if True:\n    def double(x): return 2 * x",
        "globals()['double'] = 1",
        "exec('def double(x): return x')",
        "def double(x)\n    return x",
        "def f():\n    global double\n    double = 1",
        "double = (1,",
    ]:
        assert added(root, (others + line).encode()) == b"", line


@pytest.mark.parametrize(
    ("mine", "gap"),
    [
        (MINE.encode(), b"\n\n"),
        (MINE.rstrip("\n").encode(), b"\n\n\n"),
        (MINE.replace("\n", "\r\n").encode(), b"\r\n\r\n"),
        (b"\xef\xbb\xbf" + MINE.encode(), b"\n\n"),
        (MINE.encode() + b"\n\ndef other(:\n    '''", b"\n\n\n"),
        (b"", b"import jax\n"),
        (b"# coding: gbk\n# \xd6\xd0\n", b"\n\n"),
        (b"# coding: latin-1\n# \xe9\n", b"\n\n"),
    ],
    ids=["plain", "no final newline", "CRLF", "BOM", "syntax error", "empty", "gbk", "latin-1"],
)
def test_the_rest_of_the_file_stays_byte_for_byte(root, mine, gap):
    text = added(root, mine, "zh-Hans")
    assert text.startswith(gap) and text.count(b"\r") in (0, text.count(b"\n"))
    file = answers.read(root / "answers/ch90_one.py")
    assert {"total", "count_to"} <= file.functions.keys()
    assert answers.is_blank(file, BLANKS, "total")
    assert "x 的总和" in file.source or b"latin" in mine


def test_the_blank_brings_what_it_needs(root):
    lesson = root / "lessons" / "ch90_one" / "exercises.py"
    alias = "\nN = 8\nShape = tuple[int, ...]\nSizes = dict[str, Shape]\nUNUSED = 1\n"
    head, _, tail = lesson.read_text().partition("\n\ndef double")
    lesson.write_text(f"{head}{alias}\n\ndef double{tail}".replace("count_to(n: int)", "count_to(n: Sizes)"))
    text = added(root, MINE.encode() + b"\nclass Mesh: pass\n").decode()
    assert text.startswith("\n\nShape = tuple[int, ...]\nSizes = dict[str, Shape]\n\n\ndef total(")
    namespace = {}
    exec((root / "answers/ch90_one.py").read_text(), namespace)
    assert namespace["count_to"].__doc__.startswith("Print the numbers")


def test_somebody_elses_folder_is_not_written_to(root):
    answer(root, "ch90_one", MINE, "hers")
    checked = check(root, "lessons/ch90_one", "--answers", "hers", "-k", "total")
    assert "hers/ch90_one.py has no function total: copy it from lessons/ch90_one/exercises.py" in checked.text
    assert (root / "hers/ch90_one.py").read_text() == MINE and not (root / "answers").exists()


FORMERLY = '[double]\nformerly = ["twice", "ch80_zero.times_two"]'
OLD = "def twice(x):\n    return 2 * x\n\n\n"
RENAMED = "double used to be called {}: your answer is at {}; copy it"


@pytest.mark.parametrize(
    ("mine", "other", "said"),
    [
        (OLD, "", RENAMED.format("twice", "answers/ch90_one.py:1")),
        (OLD + BLANKS.read_text(), "", RENAMED.format("twice", "answers/ch90_one.py:1")),
        (BLANKS.read_text(), "", "Not finished yet."),
        (
            BLANKS.read_text(),
            "\ndef times_two(x):\n    return 2 * x\n",
            RENAMED.format("times_two", "answers/ch80_zero.py:2"),
        ),
        (BLANKS.read_text().replace("def double", "def twice"), "", "answers/ch90_one.py has no function double"),
    ],
    ids=["missing", "blank", "not begun", "moved", "a renamed blank holds no answer"],
)
def test_one_that_was_renamed_or_moved_says_where_the_old_answer_is(root, monkeypatch, mine, other, said):
    monkeypatch.chdir(root)
    words = root / "lessons/ch90_one/words.toml"
    words.write_text(words.read_text().replace("[double]", FORMERLY, 1))
    answer(root, "ch90_one", mine)
    if other:
        answer(root, "ch80_zero", other)
    check = checking.examine(Catalogue(root / "lessons").spec("ch90_one.double"), Settings(root / "answers", 1))
    assert check.verdict.outcome == "todo" and said in checking.in_words(check, "en")
    if "copy it" in said:
        assert "double 原来叫 " in checking.in_words(check, "zh-Hans")


def test_a_broken_block_leaves_the_others_and_their_line_numbers(tmp_path):
    blocks = ["import os\nN = [\n    1,\n]", "def good():\n    return 1", "@wraps(\ndef decorated():\n    return 1"]
    blocks += ["def bad(:\n    pass", "class Kept:\n    x = 1", "def last():\n    return 2\n"]
    (tmp_path / "ch01.py").write_text("\n\n\n".join(blocks))
    read = answers.read(tmp_path / "ch01.py")
    assert read.functions == {"good": 7, "last": 24}
    assert {name: line for name, (line, _) in read.faults.items()} == {"decorated": 11, "bad": 16}
    assert "N = [" in read.source and "class Kept" in read.source
    assert read.source.splitlines()[23] == "def last():"
