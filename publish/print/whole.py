"""Join an edition's articles into one book: hints and solutions at its end, links within it, wrapping lines."""

import copy
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement

from publish import package
from publish.page import ROOT
from publish.pages import terms
from publish.pages.published import address
from publish.print import articles
from publish.print.articles import Article

NAME = "one-program-many-devices"
SOLUTIONS = "solutions"
XHTML = "http://www.w3.org/1999/xhtml"
LANGUAGES = {"en": "en", "zh-Hans": "zh-CN", "zh-Hant": "zh-TW"}


@dataclass
class Book:
    """An edition. `ui`: the strings of terms.toml in its language; `articles`: the solutions are the last one."""

    edition: str
    ui: dict[str, str]
    articles: list[Article]

    @property
    def title(self) -> str:
        return self.ui["title"]


def filename(edition: str, ending: str) -> str:
    """Return the file name of an edition on a reader's disk."""
    return f"{NAME}-{package.version()}-{edition}.{ending}"


def made_at() -> int:
    """Return seconds since 1970: SOURCE_DATE_EPOCH if set, else the time of the last commit, else now."""
    if given := os.environ.get("SOURCE_DATE_EPOCH", ""):
        return int(given)
    command = ["git", "log", "-1", "--format=%ct"]
    done = (
        subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False) if shutil.which("git") else None
    )
    return int(done.stdout) if done and done.stdout.strip().isdigit() else int(time.time())


def put_together(html: Path, edition: str, pages: list[tuple[str, str]]) -> Book:
    """Return the book of (part, page), from `HTML/EDITION/`. Raises OSError or ValueError if a page is missing."""
    ui = terms.ui_in(edition)
    contents = [articles.read(html, edition, name, part) for part, name in pages]
    solutions = _fold(contents, ui)
    contents += [solutions] if solutions.headings else []
    for article in contents:
        _unfold(article.body)
        for pre in list(article.body.iter("pre")):
            _lines(pre)
    _link(contents, edition)
    return Book(edition, ui, contents)


def places(contents: list[Article]) -> dict[str, Article]:
    """Map each id in the book to the article that contains it."""
    return {e.get("id", ""): article for article in contents for e in article.body.iter() if e.get("id")}


def full_title(article: Article, ui: dict[str, str]) -> str:
    """Return a page's title with the number of its chapter."""
    return f"{ui['chapter'].format(article.number)} · {article.title}" if article.number else article.title


def _fold(contents: list[Article], ui: dict[str, str]) -> Article:
    """Move hints and solutions of all exercises to an article of their own, with links there and back."""
    body = Element("section", {"id": f"{SOLUTIONS}.top", "class": "page solutions"})
    SubElement(body, "h1").text = ui["print_solutions"]
    SubElement(body, "p").text = ui["print_solutions_why"]
    made = Article(SOLUTIONS, ui["print_solutions"], 0, "", body)
    for article in contents:
        section = None
        for box in article.body.iter("div"):
            folded = [d for d in box if d.tag == "details"]
            if not folded or "exercise" not in (box.get("class") or "").split():
                continue
            if section is None:
                here = f"{SOLUTIONS}.{article.name}"
                section = SubElement(body, "section", {"id": here})
                SubElement(section, "h2").text = full_title(article, ui)
                made.headings.append((2, here, full_title(article, ui)))
            section.append(_exercise(box, folded, ui))
    return made


def _exercise(box: Element, folded: list[Element], ui: dict[str, str]) -> Element:
    """Take out the folded parts of an exercise and put a link in their place."""
    box_id, title = box.get("id", ""), next((articles.text_of(p) for p in box if p.tag == "p"), "")
    here = f"{SOLUTIONS}.{box_id}"
    section = Element("section", {"id": here, "class": "solved"})
    back = SubElement(SubElement(section, "h3"), "a", {"href": f"#{box_id}", "class": "numbered"})
    back.text = title
    for details in folded:
        box.remove(details)
        section.append(_opened(details))
    link = SubElement(SubElement(box, "p", {"class": "folded"}), "a", {"href": f"#{here}", "class": "numbered"})
    link.text = ui["print_solutions"]
    return section


def _unfold(body: Element) -> None:
    for parent, child in articles.parents(body):
        if child.tag == "details":
            articles.put(parent, child, _opened(child))


def _opened(details: Element) -> Element:
    """Return a folded part as a block with its summary above it."""
    block = Element("div", {"class": "opened"})
    for child in details:
        new = copy.copy(child)
        if child.tag == "summary":
            new = Element("p", {"class": "summary"})
            new.text = articles.text_of(child)
        block.append(new)
    return block


def _lines(pre: Element) -> None:
    """Put each line of a listing in its own block, which the style sheet can indent if it is too long."""
    lines = [Element("span", {"class": "line"})]
    for piece in _pieces(pre):
        if isinstance(piece, Element):
            lines[-1].append(piece)
            continue
        first, *others = piece.split("\n")
        _say(lines[-1], first)
        for text in others:
            lines.append(Element("span", {"class": "line"}))
            _say(lines[-1], text)
    while len(lines) > 1 and not "".join(lines[-1].itertext()):
        lines.pop()
    attributes = {**pre.attrib, "class": f"{pre.get('class') or ''} lines".strip()}
    tail = pre.tail
    pre.clear()
    pre.attrib, pre.tail = attributes, tail
    for line in lines:
        _say(line, "\n")  # inside: between blocks it would be an empty line
        pre.append(line)


def _pieces(element: Element) -> Iterator[str | Element]:
    """Yield the text and elements in a listing; an element that spans several lines, once for each of them."""
    if element.text:
        yield element.text
    for child in element:
        if "\n" not in "".join(child.itertext()):
            alone = copy.copy(child)
            alone.tail = None
            yield alone
        else:
            for piece in _pieces(child):
                parts = re.split("(\n)", piece) if isinstance(piece, str) else [piece]
                yield from (part if part == "\n" else _again(child, part) for part in parts if part != "")
        if child.tail:
            yield child.tail


def _again(element: Element, content: str | Element) -> Element:
    """Return an element like this one with different content."""
    copied = Element(element.tag, {k: v for k, v in element.attrib.items() if k != "id"})
    if isinstance(content, str):
        copied.text = content
    else:
        copied.append(content)
    return copied


def _say(line: Element, text: str) -> None:
    if len(line):
        line[-1].tail = (line[-1].tail or "") + text
    else:
        line.text = (line.text or "") + text


def _link(contents: list[Article], edition: str) -> None:
    """Make links lead to places in the book, the web or, if the book has an address, the site; others become text."""
    article_of, names, site = places(contents), {a.name for a in contents}, address()
    for article in contents:
        for child in list(article.body.iter("a")):
            if not (href := child.get("href")):
                continue
            if page := re.fullmatch(r"(?:\./)?([\w-]+)\.html(?:#(.*))?", href):
                href = f"#{page[1]}.{page[2] or 'top'}" if page[1] in names else href
            if href.startswith("#"):
                name = href[1:].partition(".")[0]
                href = href if href[1:] in article_of else f"#{name}.top"
                if article_of[href[1:]] is not article:
                    child.set("class", f"{child.get('class') or ''} across".strip())
            elif not re.match(r"https?://|mailto:", href):
                if not site:
                    child.tag, child.attrib = "span", {}
                    continue
                href = f"{site}/{os.path.normpath(f'{edition}/{href}')}"
            child.set("href", href)
            for key in ("title", "download", "hreflang", "target", "rel"):
                child.attrib.pop(key, None)
