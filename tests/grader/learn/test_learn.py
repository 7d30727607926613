"""The learner's screen without a screen: one function put back to its blank, moving, state, statements, line breaks."""

import asyncio
import itertools
import json

import pytest
from checker_runs import SAMPLE, answer, project
from learn_answers import silent, solved
from rich.cells import cell_len
from textual.content import Content

from grader.exercise import answers, blanks, progress
from grader.exercise.blanks import copy_blanks
from grader.exercise.statements import statement
from grader.learn.overview import Course
from grader.learn.prose import breaks, hanging, wrapped
from grader.learn.session import Session
from grader.run.service_messages import CheckReply
from grader.say.checked import Checked

BLANKS = SAMPLE / "lessons" / "ch90_one" / "exercises.py"
DOUBLE = '''def double(x: jax.Array) -> jax.Array:
    """Twice x, laid out as x is."""
    # TODO: multiply.
    raise NotImplementedError
'''
BEFORE = "import jax\n\nX = 1  # 不要动\n\n\n"
AFTER = "\n\n# about total\ndef total(x, mesh):\n    return x\n\n\nY = '''\nno def double\n'''\n"
DOUBLES = {
    "plain": "def double(x):\n    return 3 * x\n    # an afterthought\n",
    "decorated": "@jax.jit\n@jax.named_scope(\n    'd'\n)\ndef double(\n    x,\n):\n    return 3 * x\n",
    "text at the margin": "def double(x):\n    '''\nWhat\ndef it() does\n    '''\n    return 3 * x\n",
    "syntax error": "def double(\n    x,\n):\n    return 3 *\n\n    # more\n",
    "never closed": "@jax.jit\ndef double(x):\n    return (3 * x\n",
}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("double", DOUBLES.values(), ids=DOUBLES)
def test_a_reset_changes_one_function_and_keeps_the_learners(tmp_path, double, end):
    path = tmp_path / "ch90_one.py"
    before, double, after = (text.replace("\n", end).encode() for text in (BEFORE, double, AFTER))
    path.write_bytes(before + double + after)
    path.chmod(0o640)
    kept = blanks.reset(path, BLANKS, "double")
    assert path.read_bytes() == before + DOUBLE.replace("\n", end).encode() + after
    assert kept and kept.parent == tmp_path / ".kept" and kept.name.startswith("ch90_one.double.20")
    assert kept.read_bytes() == double
    assert path.stat().st_mode & 0o777 == 0o640
    assert [p.name for p in tmp_path.iterdir() if p != path] == [".kept"]


def test_a_reset_of_a_missing_function_adds_it_and_a_blank_stays(tmp_path):
    path = tmp_path / "ch90_one.py"
    path.write_text("def total(x, mesh):\n    return x")
    assert blanks.reset(path, BLANKS, "double") is None
    imports = "import jax\nfrom jax.sharding import Mesh\n"
    assert path.read_text() == f"def total(x, mesh):\n    return x\n\n\n{imports}\n\n{DOUBLE}"
    before = path.read_bytes()
    assert blanks.reset(path, BLANKS, "double") is None
    assert path.read_bytes() == before and not (tmp_path / ".kept").exists()


def course(root):
    copy_blanks(root / "lessons", root / "answers")
    return Course(root, "en")


def verdict(root, exercise, outcome, message=""):
    return Checked(exercise, outcome, None, message, line=7, answer=fingerprint(root, exercise))


def fingerprint(root, exercise):
    return answers.read(root / "answers" / f"{exercise.partition('.')[0]}.py").fingerprint


def test_n_steps_from_a_right_answer_to_the_next_that_is_not(tmp_path):
    c = course(project(tmp_path))
    assert c.exercises == ["ch90_one.double", "ch90_one.total", "ch90_one.count_to", "ch91_pair.everybody"]
    assert c.current == "ch90_one.double" and c.following() == "ch90_one.total"
    assert c.step(-1) == "ch91_pair.everybody"
    for exercise in c.exercises[:2]:
        c.note(verdict(tmp_path, exercise, "right"))
    assert c.following() == "ch90_one.count_to" and c.solved() == "2 of 4 solved"
    for exercise in c.exercises[2:]:
        c.go(exercise)
        c.note(verdict(tmp_path, exercise, "right"))
    assert c.following() == "ch90_one.double"


def test_what_is_known_survives_a_restart_until_the_file_changes_and_the_block_is_that_of_pytest(tmp_path):
    c = course(project(tmp_path))
    c.note(verdict(tmp_path, "ch90_one.double", "right"))
    c.note(verdict(tmp_path, "ch91_pair.everybody", "wrong"))
    c.go("ch90_one.count_to")
    again = Course(tmp_path, "zh-Hans")
    assert again.current == "ch90_one.count_to"
    assert again.outcomes == {"ch90_one.double": "right", "ch91_pair.everybody": "wrong"}
    state = json.loads((tmp_path / "answers/.state.json").read_text())
    assert progress.cached_outcome(tmp_path / "answers", "ch90_one.double", state) == "right"
    answer(tmp_path, "ch90_one", BLANKS.read_text() + "\n")
    assert Course(tmp_path, "en").outcomes == {"ch91_pair.everybody": "wrong"}
    # the block is that of pytest
    again.note(verdict(tmp_path, "ch90_one.double", "wrong", "一\n二"))
    block = again.block("ch90_one.double")
    assert (block.word, block.lines) == ("有误", ["一", "二"])
    assert block.heading == "ch90_one/double · 两倍 · answers/ch90_one.py:7"


def reply(session, exercise, outcome, answer):
    session._replied(CheckReply(exercise, outcome, None, "", 7, answer, id=session._id, seed=0, seconds=0.1))


def test_a_reply_on_what_was_there_before_is_no_verdict_on_what_is_saved_by_then(tmp_path):
    c = course(project(tmp_path))
    session = Session(c, silent(), limit=20, memory=2)  # its checker is not started: the replies are ours
    before = fingerprint(tmp_path, "ch90_one.count_to")
    session._texts["ch90_one"] = session._read("ch90_one")
    session._check("ch90_one.count_to")
    both = solved("count_to", "print(*range(1, n + 1), sep='\\n'); return n", solved("double", "return 2 * x"))
    answer(tmp_path, "ch90_one", both)
    reply(session, "ch90_one.count_to", "todo", before)
    assert c.outcomes["ch90_one.count_to"] == "todo" and not c.is_up_to_date("ch90_one.count_to")
    asyncio.run(session._saved("ch90_one"))
    for exercise, outcome in (("ch90_one.double", "right"), ("ch90_one.total", "todo")):
        assert session._checked == exercise
        reply(session, exercise, outcome, fingerprint(tmp_path, exercise))
    assert session._checked == "ch90_one.count_to"


def test_a_statement_in_each_language(tmp_path):
    lessons = project(tmp_path) / "lessons"
    assert statement(lessons, "ch90_one.double", "en") == "Twice `x`, laid out as `x` is."
    assert statement(lessons, "ch90_one.double", "zh-Hans") == "`x` 的两倍，布局与 `x` 相同。"
    derived = lessons / "ch90_one" / "words.zh-Hant.toml"
    derived.write_text('[double]\nstatement.zh-Hant = "x 的兩倍，配置與 x 相同。"\n')
    assert Course(tmp_path, "zh-Hant").statement("ch90_one.double") == "`x` 的兩倍，配置與 `x` 相同。"
    assert Course(tmp_path, "zh-Hant").statement("ch90_one.total") == "`x` 的总和，每个设备都要拿到。"
    lines = '"""Add\n    them.\n\n    Returns one.\n\n    每个设备，\n    各自相\n    加 n\n    次。\n    """'
    (lessons / "ch90_one" / "exercises.py").write_text(f"def double(n):\n    {lines}\n")
    assert statement(lessons, "ch90_one.double", "en") == "Add them.\n\nReturns one."
    assert statement(lessons, "ch90_one.double", "zh-Hans") == "每个设备，各自相加 `n` 次。"  # joined without a space


TEXTS = [
    "Twice the number of devices in the mesh, and a_name_that_is_much_longer_than_the_line_is_wide_and_must_be_cut.",
    "在这种分区方式（spec）下，mesh 的每个设备要存放数组的多少字节？shape 是全局形状，一定能按 spec 整除。",
]


def test_lines_fit_and_nothing_is_lost():
    for text, width in itertools.product(TEXTS, (10, 11, 20)):
        lines = wrapped(Content(text), width).plain.split("\n")
        assert all(cell_len(line) <= width and line[0] not in "，。？；）" for line in lines)
        assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    # Chinese breaks between characters, English between words
    assert breaks("设备之间必须通信", 8) == [4]
    assert breaks("设备之间，必须", 8) == [3]  # the comma stays with the character before it
    assert breaks("one two three", 8) == [8]
    lines = hanging(Content("■ 正确  "), Content("把数组分散到各个设备"), 18).plain
    assert lines == "■ 正确  把数组分散\n        到各个设备"  # further lines of a title stand below its first


def test_the_page_is_that_of_the_built_book_else_what_it_is_made_from(root):
    assert [Course(root, lang).page("ch90_one.double") for lang in ("en", "zh-Hant")] == ["", ""]
    for page in ("book/en/ch90_one.md", "book/zh-Hans/ch90_one.md"):
        (root / page).parent.mkdir(parents=True)
        (root / page).write_text("# Read\n")
    seen = [Course(root, lang).page("ch90_one.double") for lang in ("en", "zh-Hans", "zh-Hant")]
    assert seen == ["book/en/ch90_one.md", "book/zh-Hans/ch90_one.md", "book/zh-Hans/ch90_one.md"]
    built = root / "_build/html/zh-Hant/ch90_one.html"
    built.parent.mkdir(parents=True)
    built.write_text("<p>")
    seen = [Course(root, lang).page("ch90_one.total") for lang in ("en", "zh-Hans", "zh-Hant")]
    assert seen == ["book/en/ch90_one.md", "book/zh-Hans/ch90_one.md", "_build/html/zh-Hant/ch90_one.html"]


def test_it_begins_where_it_is_told_and_names_what_there_is_where_there_is_no_such_place(tmp_path):
    course = Course(project(tmp_path), "en")
    for place in ("ch91", "ch91_pair", "ch91/everybody"):
        course.go("ch90_one.double")
        course.begin_at(place)
        assert course.current == "ch91_pair.everybody"
    course.outcomes["ch90_one.double"] = "right"
    course.begin_at("ch90")
    assert course.current == "ch90_one.total"
    with pytest.raises(ValueError, match="There is no chapter ch99; choose from ch90_one, "):
        course.begin_at("ch99/x")
    with pytest.raises(ValueError, match="ch91_pair has no exercise nothing; it has everybody"):
        course.begin_at("ch91/nothing")
