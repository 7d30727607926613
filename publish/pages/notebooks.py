"""Make an edition's notebooks: one for Sphinx to render, and one for readers to download, with exercises as cells."""

import copy
import re
from dataclasses import dataclass
from functools import partial

import jupytext
import nbformat

from grader.notebook import blank_cells
from minipod.drawing import svg
from publish.outputs import recordings
from publish.outputs.execute import LIMIT, Executed
from publish.page import EDITIONS, ROOT, Page
from publish.pages import exercise_blocks, figures, first_cell, terms
from publish.pages.labels import label
from publish.pages.plain_markdown import Links, plain
from publish.pages.published import address

_WIDE = re.compile(r"[\u3400-\u9fff\uff00-\uffef、。》”]")
_CHAPTER = re.compile(r"( ?)(\{(?:doc|ref)\})`((?:sec-)?ch(\d\d)(?:_\w+)?)`( ?)")  # without words of its own
_NUMBERED = re.compile(r"\{ref\}`(?:第 (\d+) 章|[Cc]hapter (\d+)) <([^>`]+)>`")


@dataclass
class Source:
    """A page in one edition: its Markdown (prose in the reader's script) and the outputs of its cells."""

    name: str
    edition: str
    text: str
    page: Page
    executed: Executed


def source(page: Page, edition: str, executed: Executed) -> Source:
    """Prepare a written page for an edition: join Chinese lines, and derive Traditional Chinese if needed."""
    text = _marked(page, EDITIONS[edition], executed)
    text = text if edition == "en" else terms.join_lines(text)
    if edition == "zh-Hant":
        text = re.sub(r"(pytest [^`\n]*--lang zh-Han)s", r"\1t", terms.traditional(text))
    return Source(page.path.stem, edition, text, page, executed)


def _marked(page: Page, edition: str, executed: Executed) -> str:
    """Return the text of a page; if outputs are missing, it says so under the title, and why, next to the failed cell.

    Below a cell whose output differs with the oldest JAX, there is a box with that output.
    """
    ui, name, failure = terms.ui_in(edition), page.path.stem, executed.failure
    text, above = page.text, ""
    if executed.oldest:
        text = _with_oldest(page, executed.oldest, ui)
    if failure:
        where = failure_label(name)
        above = ui["warned_page" if failure.what == "warned" else "failed_page"].format(where)
        block = f"\n\n{_fenced(failure.reason)}" if failure.reason else ""
        happened = ui[f"failed_{failure.what}"].format(LIMIT) + block
        box = _box("warning", ui["failed"], f"{happened}\n\n{ui['failed_help'].format(name)}")
        after = page.cells[failure.cell].last + 1
        text = "\n".join([*page.lines[:after], "", f"({where})=", box, *page.lines[after:]])
    if page.path.parent.name != edition:
        above = f"{ui['only_other']} {above}".strip()
    if above:
        note = _box("note", ui["note"], above)
        text = re.sub(r"(?m)^# .+$", lambda heading: f"{heading[0]}\n\n{note}", text, count=1)
    return text


def _box(kind: str, title: str, text: str) -> str:
    return f":::{{admonition}} {title}\n:class: {kind}\n{text}\n:::"


def _fenced(text: str) -> str:
    fence = max(["```", *(run + "`" for run in re.findall("`+", text))], key=len)
    text = re.sub("(?m)^:", "    :", text)  # so that it closes no box
    return f"{fence}text\n{text}\n{fence}"


def _with_oldest(page: Page, oldest: recordings.OldestOutputs, ui: dict[str, str]) -> str:
    lines, title = [*page.lines], ui["oldest"].format(oldest.made.packages["jax"])
    for cell in reversed([cell for cell in page.cells if cell.name in oldest.cells]):
        output = "\n".join(map(recordings.text, oldest.cells[cell.name])).rstrip() or ui["oldest_nothing"]
        box = f":::{{dropdown}} {title}\n:class-container: oldest\n{_fenced(output)}\n:::"
        lines[cell.last + 1 : cell.last + 1] = ["", f"({oldest_label(page.path.stem, cell.name)})=", box]
    return "\n".join(lines)


def oldest_label(name: str, cell: str) -> str:
    """Return the label of the box with the output of a cell under the oldest JAX."""
    return f"oldest-{name.replace('_', '-')}-{cell}"


def failure_label(name: str) -> str:
    """Return the label of the box next to the failed cell of a page."""
    return f"failed-{name.replace('_', '-')}"


def with_outputs(src: Source) -> nbformat.NotebookNode:
    """Return the page as a notebook whose cells have their outputs. Cells are the page's own in every edition."""
    notebook = jupytext.reads(src.text, fmt="md:myst")
    # pyrefly: ignore[missing-attribute]
    notebook.metadata.pop("jupytext", None)
    # pyrefly: ignore[missing-attribute]
    notebook.metadata["language_info"] = {"name": "python", "pygments_lexer": "ipython3"}
    code = iter(zip(src.page.cells, src.executed.outputs, strict=True))
    count = drawn = 0
    # pyrefly: ignore[missing-attribute]
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        if cell.cell_type != "code":
            continue
        written, outputs = next(code)
        count += 1
        cell.metadata = nbformat.NotebookNode({"name": written.name, "tags": list(cell.metadata.get("tags", []))})
        cell.source, cell.execution_count = written.body, count if count <= src.executed.complete else None
        cell.outputs = []
        for output in outputs:
            drawn += figures.OPEN in "".join(output.get("data", {}).get("text/html", ""))
            cell.outputs.append(nbformat.from_dict(_output(output, src, count, written.name, drawn)))
    # pyrefly: ignore[bad-return]
    return notebook


def _output(output: dict, src: Source, count: int, cell: str, drawn: int) -> dict:
    """Return an output in the words of the edition. cell, drawn: a picture's cell, and its number on the page."""
    output = {**output}
    if output["output_type"] == "execute_result":
        output["execution_count"] = count
    if "text/html" in output.get("data", {}):
        data = dict(output["data"])
        html = "".join(data["text/html"])
        data["text/html"] = figures.shown(html, src.name, cell, drawn, src.edition)
        if "minipod" in html and "<pre" not in html and "text/plain" in data:  # not what a program printed
            picture, text = svg.data(html), "".join(data["text/plain"])
            description = (
                figures.description(picture, src.edition, src.name) if picture else label(text, src.edition, src.name)
            )
            data["text/plain"] = description
        output["data"] = data
    return output


def for_sphinx(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Return the result of `with_outputs`, with programs as listings under their file's name."""
    notebook = copy.copy(notebook)
    notebook.cells = list(notebook.cells)
    for i, cell in enumerate(notebook.cells):
        if cell.cell_type == "code" and cell.source.startswith("%%writefile "):
            name, _, body = cell.source.removeprefix("%%writefile ").partition("\n")
            classes = " ".join(["program", *(f"tag_{tag}" for tag in cell.metadata.tags)])
            text = f"```{{code-block}} python\n:caption: {name}\n:class: {classes}\n{body}\n```"
            notebook.cells[i] = nbformat.v4.new_markdown_cell(text, id=cell.id)
    return notebook


def to_take_away(notebook: nbformat.NotebookNode, src: Source, links: Links) -> nbformat.NotebookNode:
    """Turn the result of `with_outputs` into plain Markdown to download, after a first cell that checks packages."""
    notebook = copy.deepcopy(notebook)
    names = terms.ui_in(src.edition)
    notebook.cells = [new for cell in notebook.cells for new in _with_exercises(cell, src)]
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = plain(cell.source, links, names)
    notebook.cells = [c for c in notebook.cells if c.source.strip()]
    if src.page.cells:
        first = nbformat.v4.new_code_cell(first_cell.source(src.edition, src.name, address()), id="first")
        notebook.cells.insert(0, first)
    return notebook


def _with_exercises(cell: nbformat.NotebookNode, src: Source) -> list[nbformat.NotebookNode]:
    """Return a cell of a page; for prose with exercises, the prose and the exercises as cells."""
    if cell.cell_type != "markdown":
        return [cell]
    cells, blanks = [], ROOT / "lessons" / src.name / "exercises.py"
    for number, (name, text) in enumerate(exercise_blocks.split(cell.source, terms.ui()["answer_below"][src.edition])):
        cells.append(nbformat.v4.new_markdown_cell(text, id=f"{cell.id}-{number}" if number else cell.id))
        if name:
            blank = blank_cells.blank_cell(blanks, name, src.edition)
            cells.append(nbformat.v4.new_code_cell(blank, id=f"answer-{name}"))
            cells.append(nbformat.v4.new_code_cell(blank_cells.check_cell(name), id=f"check-{name}"))
    return cells


def name_chapters(sources: list[Source], title: dict[str, str]) -> None:
    """Give a reference to a chapter, if it has no text of its own, the chapter's number and title as text.

    In an item of a list it stays short, and if the number comes before the reference (第 3 章《…》), nothing is added.
    A reference with only a chapter's number, {ref}`chapter 3 <sec-spec>`, also gets the title, except in tables.

    title: label or page → its title, as `titles` has it.
    """
    for src in sources:
        named = partial(_named, terms.ui()["chapter_titled"][src.edition], title, src.edition != "en")
        numbered = partial(_numbered, terms.ui()["chapter_titled"][src.edition], title)
        src.text = _NUMBERED.sub(numbered, _CHAPTER.sub(named, src.text))


def _named(template: str, title: dict[str, str], chinese: bool, m: re.Match[str]) -> str:
    """Return a reference to a chapter with its number and title; in Chinese 第 3 章 follows Chinese without a space."""
    if m.string.endswith(("- ", "| ", "《", "〈", "“"), 0, m.start(2)):
        return m[0]
    before = "" if chinese and _WIDE.match(m.string, m.start() - 1) else m[1]
    after = "" if chinese and _WIDE.match(m.string, m.end()) else m[5]
    link_text = template.format(int(m[4]), title[m[3]].replace("`", ""))
    return f"{before}{m[2]}`{link_text} <{m[3]}>`{after}"


def _numbered(template: str, title: dict[str, str], m: re.Match[str]) -> str:
    """Return a reference that has a chapter's number, with the chapter's title added."""
    line = m.string.rfind("\n", 0, m.start()) + 1
    if m.string.startswith("|", line) or m.string.endswith("- ", 0, m.start()):
        return m[0]
    number = int(m[1] or m[2])
    return f"{{ref}}`{template.format(number, title[f'sec-ch{number:02}'].replace('`', ''))} <{m[3]}>`"


def titles(sources: list[Source]) -> tuple[dict[str, str], dict[str, str]]:
    """Map each label or page → its title in this edition, and each label → its page."""
    title: dict[str, str] = {}
    page: dict[str, str] = {}
    for src in sources:
        pattern = r"^\(([^()\s]+)\)=\s*\n+(?:#+ +(.+)|:{3,}\{(?:admonition|dropdown)\} +(.+))$"
        for name, heading, box in re.findall(pattern, src.text, re.M):
            title[name], page[name] = heading or box, src.name
        if first := re.search(r"^# +(.+)$", src.text, re.M):
            title[src.name] = first[1]
    return title, page
