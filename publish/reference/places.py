"""Find places: the sections of an edition's pages, the cells below them, and links to both."""

import functools
import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.exercise import chapters
from publish.page import Cell, Page, show
from publish.pages import terms
from publish.pages.notebooks import Source

BOX = re.compile(r":::\{admonition\} (.+)")
KINDS = ("mistake", "then-and-now")
MANY = 8  # links by title that a reader can look through
_LABEL = re.compile(r"\(((?:sec|ex)-[^()\s]+)\)=\s*")


@dataclass(frozen=True)
class Box:
    """A box “Common mistake: …” or “Then and now: …” of a page.

    line   index of its first line
    kind   "mistake" or "then-and-now"
    title  the text after the colon, in the page's language
    cell   the cell directly below it ("": none)
    label  that of the box, or of its section if it has no cell
    """

    line: int
    kind: str
    title: str
    cell: str
    label: str


@dataclass(frozen=True)
class Edition:
    """The pages of an edition and the title of each page and label."""

    sources: list[Source]
    titles: dict[str, str]

    @property
    def name(self) -> str:
        return self.sources[0].edition

    def words(self, name: str) -> str:
        """Return a string of the page furniture, in this edition."""
        return terms.ui()[name][self.name]

    def text(self, texts: dict[str, str]) -> str:
        """Return this edition's text from a dict with both written languages."""
        return terms.traditional(texts["zh-Hans"]) if self.name == "zh-Hant" else texts[self.name]

    def text_of(self, text: str) -> str:
        """Return a text of the written page in this edition's script."""
        return terms.traditional(text) if self.name == "zh-Hant" else text

    def chapter(self, label: str) -> int:
        """Return the chapter that contains a label. Raises ValueError if none does."""
        for source in self.sources:
            if label in source.page.labels and (match := chapters.NAME.fullmatch(source.name)):
                return int(match[1])
        raise ValueError(f"no chapter has the label `{label}`")

    def link(self, label: str, title: str = "") -> str:
        """Return a link to a label, with its own title or a different text. Raises ValueError for an unknown label."""
        if label not in self.titles:
            raise ValueError(f"no page has the label `{label}`")
        title = re.sub(r"[`*]", "", title or self.titles[label]).replace("<", "‹").replace(">", "›")
        return f"{{ref}}`{title} <{label}>`"

    def page(self, name: str) -> str:
        """Return a link to a page, with a text that also works in the list of headings."""
        return f"{{doc}}`{re.sub('[`<>]', '', self.titles[name])} <{name}>`"

    def links(self, uses: Iterable[tuple[str, str]]) -> str:
        """Return links to sections (page, label), by chapter: “3 · A mesh, Copies; 5 · Constraint”.

        If there are more than MANY: the first by its title, then the first of each further chapter by its number.
        """
        by_page: dict[str, list[str]] = {}
        for page, label in uses:
            labels = by_page.setdefault(page, [])
            labels += [label] * (label not in labels)
        pages = sorted(by_page, key=lambda page: not chapters.NAME.fullmatch(page))  # chapters before other pages
        if sum(map(len, by_page.values())) <= MANY:
            return self.words("reference_between").join(self._part(page, by_page[page]) for page in pages)
        first, *others = [page for page in pages if chapters.NAME.fullmatch(page)]
        more = " ".join(self.link(by_page[page][0], str(int(page[2:4]))) for page in others)
        return f"{self._part(first, by_page[first][:1])}{self.words('reference_more').format(more)}"

    def _part(self, page: str, labels: list[str]) -> str:
        several = self.words("reference_and").join(map(self.link, labels))
        number = chapters.NAME.fullmatch(page)
        return f"{int(number[1])} · {several}" if number else several


def read(path: Path) -> dict:
    """Return a TOML file of the book. Raises ValueError, naming it, if it cannot be read."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{show(path)}: cannot be read: {error}") from None


def of(page: Page, line: int) -> str:
    """Return the label of the section or exercise that contains a line of a page ("": above the first)."""
    lines, labels = _sections(page.text)
    at = bisect_right(lines, line)
    return labels[at - 1] if at else ""


@functools.cache
def _sections(text: str) -> tuple[list[int], list[str]]:
    labels = [(line, m[1]) for line, text in enumerate(text.split("\n")) if (m := _LABEL.fullmatch(text))]
    return [line for line, _ in labels], [label for _, label in labels]


def boxes(page: Page) -> Iterator[Box]:
    """Yield the boxes of a page about a mistake or a change of JAX, in order."""
    cells = {cell.first: cell.name for cell in page.cells}
    for line, text in enumerate(page.lines):
        kind = page.lines[line + 1].removeprefix(":class: ") if line + 1 < len(page.lines) else ""
        if (match := BOX.fullmatch(text)) and kind in KINDS:
            end = next(i for i in range(line + 1, len(page.lines)) if page.lines[i] == ":::")
            below = next((i for i in range(end + 1, len(page.lines)) if page.lines[i].strip()), -1)
            cell = cells.get(below, "")
            title = re.sub(r"^[^:：]+[:：] ?", "", match[1])
            yield Box(line, kind, title, cell, box_label(page, cell) if cell else of(page, line))


def box_label(page: Page, cell: str) -> str:
    """Return the label of the box above a cell."""
    chapter = chapters.NAME.fullmatch(page.path.stem)
    name = re.sub(r"\W|_", "-", cell.removesuffix(".py"))
    return f"box-ch{chapter[1] if chapter else '00'}-{name}"


def with_labels(source: Source) -> str:
    """Return a source's text with a label above each box that has a cell below it, so that links can lead there."""
    labelled = [box for box in boxes(source.page) if box.cell]
    lines = source.text.split("\n")
    for box in reversed(labelled):  # Chinese lines have been joined: the box is found by its cell
        at = next(i for i, line in enumerate(lines) if line == f":cell: {box.cell}" or line == f":program: {box.cell}")
        top = max(i for i in range(at) if BOX.fullmatch(lines[i]))
        lines[top:top] = [f"({box.label})="]
    return "\n".join(lines)


def shown_in(page: Page, cell: Cell) -> str:
    """Return the label nearest to a cell: that of the box above it, or else that of its section."""
    above = [box.label for box in boxes(page) if box.cell == cell.name]
    return above[0] if above else of(page, cell.first)


def literal(text: str) -> str:
    """Return Markdown that shows the text as it is."""
    return re.sub(r"([\\`*_{}\[\]<>$#|~])", r"\\\1", text)


def verbatim(text: str) -> str:
    """Return Markdown that shows the text as code, with its quotation marks as they are."""
    fence = max((len(run) for run in re.findall("`+", text)), default=0) + 1
    space = " " * (text.startswith("`") or text.endswith("`"))
    return f"{'`' * fence}{space}{text}{space}{'`' * fence}"
