"""The notebooks that readers take away: they run in an empty folder, say what is missing, and name chapters in full."""

import ast
import functools
import json
import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from small_book import each_edition

from grader.exercise.statements import functions
from publish import sync
from publish.outputs.execute import ENVIRONMENT, Executed
from publish.page import EDITIONS, ROOT, Page, read_page
from publish.pages import notebooks, terms
from publish.pages.notebooks import Source
from publish.pages.plain_markdown import Links, plain


@functools.cache
def sources(edition: str) -> dict[str, notebooks.Source]:
    """The pages of an edition, without outputs."""
    pages = {name: read_page(ROOT / "book" / EDITIONS[edition] / f"{name}.md") for name in sync.chapters()}
    blank = {name: Executed([[] for _ in page.cells], 0, 0.0, []) for name, page in pages.items()}
    return {name: notebooks.source(page, edition, blank[name]) for name, page in pages.items()}


@functools.cache
def take_away(chapter: str, edition: str) -> nbformat.NotebookNode:
    """The notebook of a page as a reader gets it, but for the outputs."""
    titles, pages = notebooks.titles([*sources(edition).values()])
    src = sources(edition)[chapter]
    return notebooks.to_take_away(notebooks.with_outputs(src), src, Links(titles, pages, chapter))


def code(notebook: nbformat.NotebookNode) -> list[str]:
    return [c.source for c in notebook.cells if c.cell_type == "code"]


def test_a_notebook_is_the_code_that_the_build_runs_the_same_in_every_edition():
    for chapter, source in sources("en").items():
        page = source.page
        first, *rest = code(take_away(chapter, "en")) or [""]
        assert bool(first) == bool(rest)
        asked = [cell for cell in rest if cell.startswith("lessons.check(")]
        assert [cell.partition("\n")[0] for cell in asked] == [f'lessons.check("{e.name}")' for e in page.exercises]
        blanks = [rest[rest.index(cell) - 1] for cell in asked]
        assert [cell for cell in rest if cell not in asked + blanks] == [cell.body for cell in page.cells], chapter
        english, *others = ([c for c in take_away(chapter, e).cells if c.cell_type == "code"][1:] for e in EDITIONS)
        for cell, there in (pair for other in others for pair in zip(english, other, strict=True)):
            assert there.id == cell.id
            if cell.id.startswith("answer-"):  # its comments are in the reader's language
                there, cell = (ast.dump(ast.parse(one.source)) for one in (there, cell))
            assert there == cell
        # The blank is a cell, too: it would be called in place of what the page has defined.
        for cell in page.cells:
            taken = {exercise.name for exercise in page.exercises if exercise.first < cell.first}
            tree = ast.parse("\n".join(line for line in cell.body.split("\n") if not line.startswith("%")))
            used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
            assert not used & taken, f"{chapter}: cell `{cell.name}` means the exercise's function {used & taken}"


@pytest.mark.parametrize("edition", EDITIONS)
def test_every_notebook_is_valid_and_plain_markdown(edition):
    for chapter in sources(edition):
        notebook = take_away(chapter, edition)
        nbformat.validate(notebook)
        text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
        left = [f for f in (":::", "{ref}", "{doc}", "{math}", ")=\n", "% exercise", ":class:") if f in text]
        assert left == [], chapter


@pytest.mark.parametrize("edition", EDITIONS)
def test_an_exercise_is_its_statement_its_blank_and_its_check(edition):
    words = terms.ui_in(edition)
    for chapter in (c for c in sources(edition) if c.startswith("ch")):
        cells = take_away(chapter, edition).cells
        for name in functions(ROOT / "lessons" / chapter / "exercises.py"):
            at = next(n for n, cell in enumerate(cells) if cell.id == f"answer-{name}")
            asked, answer, check = (cell.source for cell in cells[at - 1 : at + 2])
            assert asked.rstrip().endswith(words["answer_below"]) and f"**{words['exercise']} " in asked
            assert "```" not in asked and "<details>" not in asked
            alone = {}
            exec(compile(answer, name, "exec"), alone)  # runs as it stands
            assert callable(alone[name])
            assert check == f'lessons.check("{name}")\n# lessons.hint("{name}")\n# lessons.solution("{name}")'


@pytest.mark.parametrize(
    "chapter", ["start", *(pytest.param(c, marks=pytest.mark.long) for c in ("ch02_pmap", "ch10_processes"))]
)
def test_a_notebook_runs_in_an_empty_folder(chapter, tmp_path):
    # The code is the same in all editions but for the first cell, which runs here in each.
    english = code(take_away(chapter, "en"))
    firsts = [code(take_away(chapter, edition))[:1] for edition in ("zh-Hans", "zh-Hant")]
    cells = english + [cell for first in firsts for cell in first]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    environment = {**os.environ, **ENVIRONMENT, "PYTHONPATH": str(ROOT)}
    NotebookClient(notebook, timeout=3600, resources={"metadata": {"path": str(tmp_path)}}).execute(env=environment)


PLAIN = [
    ("(sec-a)=\n## Title A", '<a id="sec-a"></a>\n\n## Title A'),
    ("See {ref}`sec-a`, {ref}`that <sec-b>`", "See [Title A](#sec-a), [that](other.ipynb#sec-b)"),
    ("{doc}`other`, {math}`x^2` and `{ref}` as code.", "[Other page](other.ipynb), $x^2$ and `{ref}` as code."),
    ("::::{admonition} A\n:class: exercise\n:::{tip} B\nC\n:::\n::::", "---\n\n**A**\n\n> **B**\n>\n> C"),
    (":::{dropdown} Hint 1\nLook.\n:::", "<details>\n<summary>Hint 1</summary>\n\nLook.\n\n</details>"),
    (":::{note}\nTwo\nlines.\n:::", "> **Note**\n>\n> Two\n> lines."),
    ("a\n% a comment\nb", "a\nb"),
]


def test_boxes_labels_and_roles_become_plain_markdown_or_are_named():
    links = Links(
        {"sec-a": "Title A", "other": "Other page", "sec-b": "B"}, {"sec-a": "here", "sec-b": "other"}, "here"
    )
    assert [plain(text, links, {"note": "Note"}) for text, _ in PLAIN] == [expected for _, expected in PLAIN]
    # what has no plain form is named
    with pytest.raises(ValueError, match="directive {tab-set} has no plain Markdown form"):
        plain(":::{tab-set}\n:::", Links({}, {}, "here"), {})
    with pytest.raises(ValueError, match="no page or label is called “sec-x”"):
        plain("{ref}`sec-x`", Links({}, {}, "here"), {})


@each_edition
def test_the_built_notebooks_carry_their_outputs(html, edition):
    for chapter in sources(edition):
        notebook = json.loads((html / edition / "notebooks" / f"{chapter}.ipynb").read_text("utf-8"))
        asked = ("answer-", "check-")  # how the names of an exercise's cells begin
        cells = [c for c in notebook["cells"] if c["cell_type"] == "code" and not c["id"].startswith(asked)]
        assert not cells or sum(bool(c["outputs"]) for c in cells) >= len(cells) / 2


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
    # lists, tables, other words and sections stay
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
