"""Read the sections and exercises of a built page, as a reader sees them."""

import re
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser

from publish.kept import kept

_VOID = {"br", "hr", "img", "input", "link", "meta", "source", "wbr", "col"}
_SKIPPED = {"script", "style", "svg", "nav", "math"}
_SPANS = re.compile(r"</?span\b[^>]*>")  # of highlighted code: most of a page's tags, and none of its structure
_FURNITURE = {"headerlink", "chapter", "sd-summary-title", "oldest"}  # oldest: an output nearly as the one above it
_HEADINGS = ("h1", "h2", "h3", "h4")
LONGEST = 1500  # characters taken of one code cell, output or solution


@dataclass
class Section:
    """One place that can be linked to. `inner`: titles of boxes in it. `code`: cells, outputs, tables and solutions.

    Hints are left out: an excerpt would give them away.
    """

    anchor: str
    title: str = ""
    inner: list[str] = field(default_factory=list)
    prose: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)


@kept
def sections(html: str) -> list[Section]:
    """Return the sections in the article of a page, in order; the text of a subsection belongs only to that."""
    parser = _Article()
    begin, end = html.find("<article"), html.rfind("</article>")
    if begin >= 0:  # none on pages such as the search's own
        parser.feed(_SPANS.sub("", html[begin:end]))
        parser.close()
    return [s for s in parser.found if s.title]


def whole(html: str) -> str:
    """Return all text in the article of a page, including hints, pictures and the ends of long listings."""
    article = html[html.find("<article") : html.rfind("</article>")]
    return unescape(re.sub(r"<[^>]*>", " ", _SPANS.sub("", article)))


class _Article(HTMLParser):
    """A parser that collects `found`. The kind of a tag says what its text is: title, inner, prose, code or skipped."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.found: list[Section] = []
        self._open: list[tuple[str, Section | None, str]] = []  # tag, the section that it begins, kind

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _VOID:
            return
        given = {name: value or "" for name, value in attrs}
        classes = set(given.get("class", "").split())
        begins = Section(given["id"]) if "id" in given and (tag == "section" or "exercise" in classes) else None
        if begins:
            self.found.append(begins)
        kind = self._kind(tag, classes)
        if kind == "inner" and tag == "p":
            self._here().inner.append("")
        if kind == "code" and tag in ("pre", "table"):
            self._here().code.append("")
        self._open.append((tag, begins, kind))

    def _kind(self, tag: str, classes: set[str]) -> str:
        around, parent = ("", None) if not self._open else (self._open[-1][2], self._open[-1][1])
        if around == "skipped" or not self.found or tag in _SKIPPED or classes & _FURNITURE:
            return "skipped" if self.found else ""
        if tag in _HEADINGS or "admonition-title" in classes:
            return "title" if tag in _HEADINGS or parent else "inner"  # an exercise's own title is its box's
        if tag in ("pre", "table"):
            return "code"
        if tag == "details" and self._here().anchor.startswith("ex-"):
            return "hint"
        return around if around in ("title", "inner", "code", "hint") else "prose"

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        kind = self._open[-1][2] if self._open else ""
        if kind in ("", "skipped", "hint"):
            return
        here = self._here()
        if kind == "title":
            here.title += data
        elif kind == "prose":
            here.prose.append(data)
        elif kind == "inner":
            here.inner[-1] += data
        elif len(here.code[-1]) < LONGEST:
            here.code[-1] += data[: LONGEST - len(here.code[-1])]

    def _here(self) -> Section:
        return next((s for _, s, _ in reversed(self._open) if s), self.found[-1])
