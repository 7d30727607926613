"""The chapters' exercises in each language, as learners are shown them; `make check` names what is left out in one."""

import ast
import re

import pytest

from grader.exercise import answers, chapters
from grader.exercise.statements import HAN, blanks_in, statement, typed
from grader.messages import LANGUAGES, say
from publish.languages import written_in
from publish.page import ROOT

BLANKS = [pytest.param(path, id=path.parent.name) for path in chapters.given_out(ROOT / "lessons", "exercises.py")]


def functions(text):
    return [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]


def is_chinese(blanks, exercise, lang):
    """Whether a reader of this language is shown Chinese."""
    written = written_in(blanks.parent, exercise)
    return "en" not in written or (lang != "en" and "zh-Hans" in written)


@pytest.mark.parametrize("blanks", BLANKS)
def test_statements_are_shown_with_the_same_paragraphs_and_types_in_every_edition(blanks):
    for node in functions(blanks.read_text("utf-8")):
        shown = [statement(ROOT / "lessons", f"{blanks.parent.name}.{node.name}", lang) for lang in LANGUAGES]
        assert len({text.count("\n\n") for text in shown}) == 1, shown
        assert len({frozenset(typed(text)) for text in shown}) == 1, shown
        assert all("\n" not in part for text in shown for part in text.split("\n\n"))


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("blanks", BLANKS)
def test_each_chapter_gives_out_one_language_and_the_code_as_it_is(blanks, lang):
    text = blanks_in(blanks, lang)
    assert say("answers-yours", lang).partition(" ")[0] in text and "stays as it is" not in text.partition("\n\n\n")[0]
    for node in functions(text):
        chinese = is_chinese(blanks, node.name, lang)
        words, source = ast.get_docstring(node), ast.get_source_segment(text, node)
        (todo,) = [line for line in source.split("\n") if "# TODO" in line]
        assert words and bool(HAN.search(words)) == bool(HAN.search(todo)) == chinese
        assert chinese or not HAN.search(source)
    given = answers.Answers(blanks, text, shapes={node.name: answers._shape(node) for node in functions(text)})
    assert given.shapes and all(answers.is_blank(given, blanks, name) for name in given.shapes)


@pytest.mark.parametrize("blanks", BLANKS)
def test_the_blanks_of_a_reader_of_traditional_chinese_are_in_it(blanks):
    text, derived = blanks.read_text("utf-8"), blanks_in(blanks, "zh-Hant")
    chinese = [line for line in derived.split("\n") if HAN.search(line)]
    assert not chinese or not re.search("[们进这个时设备数组维说]", "".join(chinese))
    assert all(sum(2 if HAN.match(c) else 1 for c in line) <= 92 for line in chinese)
    for one, other in zip(functions(text), functions(derived), strict=True):
        if is_chinese(blanks, one.name, "zh-Hant"):
            assert ast.get_docstring(one) != ast.get_docstring(other)
        del one.body[0], other.body[0]
        assert ast.dump(one) == ast.dump(other)
