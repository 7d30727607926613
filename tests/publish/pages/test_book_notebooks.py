"""The notebooks that readers take away: they run in an empty folder, and say what is missing where something is."""

import ast
import functools
import json
import os

import nbformat
import pytest
import small_book
from nbclient import NotebookClient

from grader.exercise.statements import functions
from publish import sync
from publish.outputs.execute import ENVIRONMENT, Executed
from publish.page import ROOT, read_page
from publish.pages import notebooks, terms
from publish.pages.notebooks import EDITIONS
from publish.pages.plain_markdown import Links, plain

LONG = pytest.mark.long
CHAPTERS = [c for c in sync.chapters() if (ROOT / "book" / "en" / f"{c}.md").exists()]


ASKED = ("answer-", "check-")  # how the names of an exercise's cells begin


def without_comments(source: str) -> str:
    return ast.dump(ast.parse(source))


@functools.cache
def sources(edition: str) -> list[notebooks.Source]:
    """The pages of an edition, without outputs."""
    found = []
    for name in CHAPTERS:
        page = read_page(ROOT / "book" / EDITIONS[edition] / f"{name}.md")
        found.append(notebooks.source(page, edition, Executed([[] for _ in page.cells], 0, 0.0, [])))
    return found


@functools.cache
def take_away(chapter: str, edition: str) -> nbformat.NotebookNode:
    """The notebook of a page as a reader gets it, but for the outputs."""
    titles, pages = notebooks.titles(sources(edition))
    src = sources(edition)[CHAPTERS.index(chapter)]
    return notebooks.to_take_away(notebooks.with_outputs(src), src, Links(titles, pages, chapter))


def code(notebook: nbformat.NotebookNode) -> list[str]:
    return [c.source for c in notebook.cells if c.cell_type == "code"]


def execute(cells: list[str], folder) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    environment = {**os.environ, **ENVIRONMENT, "PYTHONPATH": str(ROOT)}
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(folder)}}).execute(env=environment)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_notebook_is_the_code_that_the_build_runs_in_an_empty_folder(chapter):
    page = read_page(ROOT / "book/en" / f"{chapter}.md")
    first, *rest = code(take_away(chapter, "en")) or [""]
    assert bool(first) == bool(rest)
    asked = [cell for cell in rest if cell.startswith("lessons.check(")]
    assert [cell.partition("\n")[0] for cell in asked] == [f'lessons.check("{e.name}")' for e in page.exercises]
    blanks = [rest[rest.index(cell) - 1] for cell in asked]
    assert [cell for cell in rest if cell not in asked + blanks] == [cell.body for cell in page.cells]


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("chapter", [c for c in CHAPTERS if c.startswith("ch")])
def test_an_exercise_is_its_statement_its_blank_and_its_check(chapter, edition):
    notebook, words = take_away(chapter, edition), {name: row[edition] for name, row in terms.ui().items()}
    for name in functions(ROOT / "lessons" / chapter / "exercises.py"):
        at = next(n for n, cell in enumerate(notebook.cells) if cell.id == f"answer-{name}")
        asked, answer, check = notebook.cells[at - 1 : at + 2]
        assert asked.source.rstrip().endswith(words["answer_below"]) and f"**{words['exercise']} " in asked.source
        assert "```" not in asked.source and "<details>" not in asked.source
        alone = {}
        exec(compile(answer.source, name, "exec"), alone)  # runs as it stands
        assert callable(alone[name])
        assert check.source == f'lessons.check("{name}")\n# lessons.hint("{name}")\n# lessons.solution("{name}")'


@pytest.mark.parametrize("chapter", ["start", *(pytest.param(c, marks=LONG) for c in ("ch02_pmap", "ch10_processes"))])
def test_a_notebook_runs_in_an_empty_folder(chapter, tmp_path):
    # The code is the same in all editions (next test) but for the first cell, which runs here in each.
    english = code(take_away(chapter, "en"))
    firsts = [code(take_away(chapter, edition))[:1] for edition in ("zh-Hans", "zh-Hant")]
    execute(english + [cell for first in firsts for cell in first], tmp_path)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_code_is_the_same_in_every_edition_but_for_the_first_cell(chapter):
    first, *others = ([c for c in take_away(chapter, e).cells if c.cell_type == "code"][1:] for e in EDITIONS)
    for other in others:
        for cell, there in zip(first, other, strict=True):
            blank = cell.id.startswith("answer-")  # its comments are in the reader's language
            assert there.id == cell.id
            assert without_comments(there.source) == without_comments(cell.source) if blank else there == cell


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_notebook_is_valid_and_plain_markdown(chapter, edition):
    notebook = take_away(chapter, edition)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for form in (":::", "{ref}", "{doc}", "{math}", ")=\n", "% exercise", ":class:"):
                assert form not in cell.source, (form, cell.source)


def test_boxes_labels_and_roles_become_plain_markdown():
    titles = {"sec-a": "Title A", "other": "Other page", "sec-b": "B"}
    links = Links(titles, {"sec-a": "here", "sec-b": "other"}, "here")
    text = """(sec-a)=
## Title A
See {ref}`sec-a`, {ref}`that <sec-b>`, {doc}`other`, {math}`x^2` and `{ref}` as code.

::::{admonition} Exercise 1
:class: exercise
Do it.

:::{dropdown} Hint 1
Look.
:::
::::

:::{note}
Two
lines.
:::
% a comment
"""
    expected = """<a id="sec-a"></a>

## Title A
See [Title A](#sec-a), [that](other.ipynb#sec-b), [Other page](other.ipynb), $x^2$ and `{ref}` as code.

---

**Exercise 1**

Do it.

<details>
<summary>Hint 1</summary>

Look.

</details>

> **Note**
>
> Two
> lines."""
    assert plain(text, links, {"note": "Note"}) == expected


def test_what_has_no_plain_form_is_named():
    with pytest.raises(ValueError, match="directive {tab-set} has no plain Markdown form"):
        plain(":::{tab-set}\n:::", Links({}, {}, "here"), {})
    with pytest.raises(ValueError, match="nothing is called «sec-x»"):
        plain("{ref}`sec-x`", Links({}, {}, "here"), {})


def test_the_built_notebooks_carry_their_outputs():
    html = small_book.real_book()
    for edition in EDITIONS:
        for chapter in CHAPTERS:
            notebook = json.loads((html / edition / "notebooks" / f"{chapter}.ipynb").read_text("utf-8"))
            cells = [c for c in notebook["cells"] if c["cell_type"] == "code" and not c["id"].startswith(ASKED)]
            assert not cells or sum(bool(c["outputs"]) for c in cells) >= len(cells) / 2


@pytest.mark.parametrize("name", sync.chapters())
def test_no_cell_uses_a_name_that_an_exercise_above_it_has_taken(name):
    """In a notebook the blank is a cell, too: it would be called in place of what the page has defined."""
    page = read_page(ROOT / "book" / "en" / f"{name}.md")
    for cell in page.cells:
        taken = {exercise.name for exercise in page.exercises if exercise.first < cell.first}
        tree = ast.parse("\n".join(line for line in cell.body.split("\n") if not line.startswith("%")))
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        assert not used & taken, f"{name}: cell «{cell.name}» means the exercise's function {used & taken}"
