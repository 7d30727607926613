"""A reference to a chapter says its number and title in every edition."""

from pathlib import Path

from publish.outputs.execute import Executed
from publish.page import Page
from publish.pages import notebooks
from publish.pages.notebooks import Source

TITLES = {"ch04_jit": "`jit`, 交给编译器", "sec-ch04": "`jit`, 交给编译器", "sec-mesh": "网格"}


def named(text: str, edition: str) -> str:
    page = Page(Path("ch05_x.md"), text, text.split("\n"), [], [], [], [])
    source = Source("ch05_x", edition, text, page, Executed([], 0, 0.0, []))
    notebooks.name_chapters([source], TITLES)
    return source.text


def test_a_reference_without_words_says_number_and_title():
    for edition, text, said in (
        ("en", "see {doc}`ch04_jit`.", "see {doc}`Chapter 4, “jit, 交给编译器” <ch04_jit>`."),
        ("zh-Hans", "见 {ref}`sec-ch04`。", "见{ref}`第 4 章《jit, 交给编译器》 <sec-ch04>`。"),
        ("zh-Hans", "正如 {doc}`ch04_jit` 那样", "正如{doc}`第 4 章《jit, 交给编译器》 <ch04_jit>`那样"),
        ("zh-Hant", "見 {doc}`ch04_jit`。", "見{doc}`第 4 章〈jit, 交给编译器〉 <ch04_jit>`。"),
        ("en", "see {ref}`chapter 4 <sec-mesh>`.", "see {ref}`Chapter 4, “jit, 交给编译器” <sec-mesh>`."),
        ("zh-Hans", "与 {ref}`第 4 章 <sec-mesh>` 一样", "与 {ref}`第 4 章《jit, 交给编译器》 <sec-mesh>` 一样"),
        ("zh-Hans", "用 `jit` {doc}`ch04_jit`", "用 `jit` {doc}`第 4 章《jit, 交给编译器》 <ch04_jit>`"),
    ):
        assert named(text, edition) == said


def test_lists_tables_other_words_and_sections_stay():
    for text in (
        "| {ref}`第 4 章 <sec-mesh>` |",
        "第 4 章《{ref}`sec-ch04`》",
        "第 4 章〈{ref}`sec-ch04`〉",
        "- {doc}`ch04_jit`：小",
        "| {doc}`ch04_jit` | 3 |",
        "{ref}`这里 <sec-ch04>`",
        "{ref}`sec-mesh`",
    ):
        assert named(text, "zh-Hans") == text
