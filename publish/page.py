"""Read a page and a lesson's demo: code cells by name, headings with labels, exercises, in page order.

jupytext reads the demo; markdown-it, which jupytext itself uses, finds the line numbers of everything on a page, so
that writing a page back changes nothing else in it.
"""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.front_matter import front_matter_plugin

from grader.exercise.chapters import FILE
from publish.chapter_tables import WRITTEN
from publish.chapter_toml import Chapter, read_chapter
from publish.kept import kept

ROOT = Path(__file__).resolve().parents[1]
EDITIONS = {"en": "en", "zh-Hans": "zh-Hans", "zh-Hant": "zh-Hans"}  # each edition, and the one that has its source

_MARKDOWN = MarkdownIt("commonmark").use(front_matter_plugin).use(colon_fence_plugin).disable("inline")
_INLINE = MarkdownIt("commonmark")
_OPTION = re.compile(r":([\w-]+):\s*(.*)")
_LABEL = re.compile(r"\(([^()\s]+)\)=\s*")
_EXERCISE = re.compile(r"% exercise: *(\w+) *")
_END = re.compile(r"% end exercise *")


@dataclass
class Cell:
    """A code cell of a page. `first` and `last` are the line indices of its fences; `body` is the text inside."""

    kind: str  # "cell", "program", or "" when the page names neither
    name: str
    first: int
    last: int
    body: str
    options: list[str] = field(default_factory=list)


@dataclass
class Exercise:
    """The lines between `% exercise: name` (index `first`) and `% end exercise` (index `last`)."""

    name: str
    first: int
    last: int


@dataclass
class Page:
    """A page as written. `problems` are sentences that begin with the page's path and line."""

    path: Path
    text: str
    lines: list[str]
    cells: list[Cell]
    exercises: list[Exercise]
    labels: list[str]
    problems: list[str]


def show(path: Path, root: Path = ROOT) -> str:
    """Return the path for messages: relative to the repository."""
    return str(path.relative_to(root) if path.is_relative_to(root) else path)


def written(name: str, edition: str, root: Path = ROOT) -> Path:
    """Return the file of a page in this edition or, if it is not written yet, in a different one."""
    paths = [root / "book" / e / f"{name}.md" for e in (edition, *WRITTEN)]
    return next((path for path in paths if path.exists()), paths[0])


@functools.cache  # asked for every picture of every edition
def chapter_of(name: str) -> Chapter | None:
    """Return the chapter to which a page of the book belongs, or None. Raises ValueError as for `read_chapter`."""
    folder = ROOT / "lessons" / name
    return read_chapter(folder) if (folder / FILE).exists() else None


def read_page(path: Path, root: Path = ROOT, text: str | None = None) -> Page:
    """Read one MyST page: cells, exercises, labels, faults of form. text: what to read instead of the file's text."""
    return _page(path, path.read_text("utf-8") if text is None else text, show(path, root))


@kept  # a build asks for each page of each edition, and for the English one once more
def _page(path: Path, text: str, name: str) -> Page:
    lines = text.split("\n")
    page = Page(path, text, lines, [], [], [], [])
    tokens = _MARKDOWN.parse(text)
    for token in tokens:
        at = token.map[0] if token.map else 0
        if token.type == "fence" and token.info.startswith("{code-cell}"):
            page.cells.append(_cell(token, page, name))
        elif token.type == "colon_fence" and "{code-cell}" in token.content:
            page.problems.append(f"{name}:{at + 1}: a code cell inside a box is not executed: close the box before it")
        elif token.type == "heading_open" and not _label_above(lines, at):
            page.problems.append(f"{name}:{at + 1}: the heading “{lines[at].lstrip('# ')}” has no label (sec-name)=")
    for line in _open_code(tokens):
        page.problems.append(f"{name}:{line + 1}: a backtick here opens code that is never closed")
    inside = {i for c in page.cells for i in range(c.first, c.last)}
    page.labels = [m[1] for i, line in enumerate(lines) if i not in inside and (m := _LABEL.fullmatch(line))]
    _find_exercises(page, name)
    return page


def _open_code(tokens: list[Token], at: int = 0) -> Iterator[int]:
    """Yield the index of the first line of each paragraph with a backtick that opens no code; in boxes, too."""
    for token in tokens:
        first = at + (token.map or (0,))[0]
        if token.type == "colon_fence":
            yield from _open_code(_MARKDOWN.parse(token.content), first + 1)
        elif token.type == "inline" and not _closed(token.content):
            children = _INLINE.parseInline(token.content)[0].children or []
            if any("`" in child.content for child in children if child.type == "text"):
                yield first


def _closed(text: str) -> bool:
    """Return whether each run of backticks is clearly closed by the next; a slow parser decides the rest."""
    runs = re.findall("`+", text)
    return runs[::2] == runs[1::2] and "\\`" not in text


def _cell(token: Token, page: Page, name: str) -> Cell:
    first, after = token.map or (0, 0)
    content = token.content.split("\n")
    count = next((i for i, line in enumerate(content) if not _OPTION.fullmatch(line)), len(content))
    options = content[:count]
    values = {m[1]: m[2].strip() for line in options if (m := _OPTION.fullmatch(line))}
    kind = "cell" if "cell" in values else "program" if "program" in values else ""
    if not kind:
        page.problems.append(f"{name}:{first + 1}: a code cell needs a line `:cell: name` or `:program: file.py`")
    if not page.lines[after - 1].startswith(token.markup):
        page.problems.append(f"{name}:{first + 1}: the code cell is never closed")
    return Cell(kind, values.get(kind, ""), first, after - 1, "\n".join(content[count:]).rstrip("\n"), options)


def _label_above(lines: list[str], at: int) -> bool:
    above = next((line for line in reversed(lines[:at]) if line.strip()), "")
    return bool(_LABEL.fullmatch(above))


def _find_exercises(page: Page, name: str) -> None:
    start: tuple[str, int] | None = None
    for i, line in enumerate(page.lines):
        if m := _EXERCISE.fullmatch(line):
            if start:
                page.problems.append(f"{name}:{start[1] + 1}: exercise `{start[0]}` has no line `% end exercise`")
            start = (m[1], i)
        elif _END.fullmatch(line):
            if start is None:
                page.problems.append(f"{name}:{i + 1}: `% end exercise` without `% exercise: name` above it")
            else:
                page.exercises.append(Exercise(*start, i))
                start = None
    if start:
        page.problems.append(f"{name}:{start[1] + 1}: exercise `{start[0]}` has no line `% end exercise`")


def demo_cells(demo: Path) -> dict[str, str]:
    """Return the named cells (`# %% name`) of a demo.py, in order. Raises ValueError for a missing or repeated name.

    Lines above the first of them belong to the script and are on no page.
    """
    return _cells(demo, demo.read_text("utf-8"))


@kept  # both languages have the same cells
def _cells(demo: Path, text: str) -> dict[str, str]:
    import jupytext  # the import takes 0.3 s, and the results are kept

    cells: dict[str, str] = {}
    above = f"\n{text}".partition("\n# %%")[0]
    # pyrefly: ignore[missing-attribute]
    for number, cell in enumerate(jupytext.reads(text, fmt="py:percent").cells):
        if cell.cell_type != "code":
            continue
        name, source = str(cell.metadata.get("title", "")).strip(), cell.source.rstrip("\n")
        if not name and number == 0 and source in above:
            continue
        if not name:
            raise ValueError(f"{show(demo)}: cell {number + 1} has no name: write `# %% name` above it")
        if name in cells:
            raise ValueError(f"{show(demo)}: two cells are called “{name}”")
        cells[name] = source
    return cells


def program_cell(name: str, source: str) -> str:
    """Return the body of a cell that shows a program and, when it is executed, writes it next to the notebook."""
    return f"%%writefile {name}\n{source.rstrip()}"
