"""Read an edition's built pages as XHTML trees, in the book's order, without parts that make sense only on a screen."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree.ElementTree import Element

import tinyhtml5
import yaml

from grader.exercise import chapters
from publish.page import ROOT
from publish.pages import terms

# Pages that are of no use on paper: the cover replaces the index, and the explorer needs a reader's input.
LEFT_OUT = ("index", "explorer", "search")
_NAMESPACES = {"http://www.w3.org/2000/svg": "svg", "http://www.w3.org/1998/Math/MathML": "math"}
_GONE = {"script", "button", "input", "form", "noscript", "link", "template"}
_GONE_CLASSES = {
    "headerlink",
    "copybtn",
    "sd-summary-state-marker",
    "caption-number",
    "prev-next-footer",
    "screen-only",
}
_ID_LISTS = ("aria-labelledby", "aria-describedby")
_WITHIN = re.compile(r"url\(#([^)]+)\)")


@dataclass
class Article:
    """A page. Every id in it begins with the page's name and a dot, so that no two pages share an id.

    title: that of the page, without the chapter's number; number: of the chapter, 0 for other pages
    part: the caption of its part of the book; body: a <section>; headings: (level, id, title) for h2 and below
    """

    name: str
    title: str
    number: int
    part: str
    body: Element
    headings: list[tuple[int, str, str]] = field(default_factory=list)


def order(root: Path = ROOT) -> list[tuple[str, str]]:
    """Return (part, page) of the pages in _toc.yml except those left out; part: its caption in English."""
    toc = yaml.safe_load((root / "_toc.yml").read_text("utf-8"))
    pages = [(part.get("caption", ""), c["file"]) for part in toc["parts"] for c in part.get("chapters", [])]
    return [(caption, name) for caption, name in pages if name not in LEFT_OUT]


def read(html: Path, edition: str, name: str, part: str = "") -> Article:
    """Read one built page, `HTML/EDITION/NAME.html`. Raises OSError if it is missing, ValueError without an article."""
    text = (html / edition / f"{name}.html").read_text("utf-8")
    match = re.search(r"<article\b.*?</article>", text, re.S)
    if not match:
        raise ValueError(f"{edition}/{name}.html has no article: run `make book`")
    # pyrefly: ignore[bad-assignment]
    document: Element = tinyhtml5.parse(match[0])
    article = next(e for e in document.iter() if e.tag.endswith("}article"))
    _plain_names(article)
    _clean(article)
    _own_ids(article, name)
    body = next((e for e in article if e.tag == "section"), article)
    body.tag = "section"
    body.attrib = {"id": f"{name}.top", "class": "page"} | ({"data-id": body.get("id", "")} if body.get("id") else {})
    if section_id := body.attrib.pop("data-id", ""):
        body.insert(0, Element("span", {"id": section_id}))
    title = next((text_of(e) for e in body.iter("h1")), name)
    chapter = chapters.NAME.fullmatch(name)
    return Article(name, title, int(chapter[1]) if chapter else 0, _caption(part, edition), body, _headings(body))


def text_of(element: Element) -> str:
    """Return the text of an element, in one line."""
    return " ".join("".join(element.itertext()).split())


def parents(tree: Element) -> Iterator[tuple[Element, Element]]:
    """Yield (parent, child) for every element below `tree`; children may be removed meanwhile."""
    for parent in list(tree.iter()):
        for child in list(parent):
            yield parent, child


def remove(parent: Element, child: Element) -> None:
    """Remove an element; the text after it stays."""
    put(parent, child)


def put(parent: Element, child: Element, *new: Element | str) -> None:
    """Replace a child by elements and text; the text after it stays."""
    at = list(parent).index(child)
    parent.remove(child)
    pieces: list[Element | str] = [*new, child.tail or ""]
    child.tail = None
    for piece in pieces:
        if isinstance(piece, str):
            before = parent[at - 1] if at else None
            if before is None:
                parent.text = (parent.text or "") + piece
            else:
                before.tail = (before.tail or "") + piece
        else:
            parent.insert(at, piece)
            at += 1


def _plain_names(tree: Element) -> None:
    """Use local names instead of {namespace}name; <svg> and <math> declare theirs, the root declares XHTML's."""
    for element in tree.iter():
        space, _, local = str(element.tag).removeprefix("{").rpartition("}")
        element.tag = local or "span"
        element.attrib = {key.rpartition("}")[2]: value for key, value in element.attrib.items()}
        element.attrib.pop("xmlns", None)
        if _NAMESPACES.get(space) == local:
            element.set("xmlns", space)


def _clean(tree: Element) -> None:
    styles = set()
    for parent, child in parents(tree):
        classes = set((child.get("class") or "").split())
        repeated = child.tag == "style" and child.text in styles  # each picture contains the style of all pictures
        if child.tag == "style":
            styles.add(child.text)
        if child.tag in _GONE or classes & _GONE_CLASSES or repeated:
            remove(parent, child)
        for key in [k for k in child.attrib if k.startswith(("on", "data-")) or k == "tabindex"]:
            del child.attrib[key]
    for parent, child in parents(tree):
        if child.tag == "span" and child.get("class") == "pre":  # one for each word of a name
            # pyrefly: ignore[no-matching-overload]
            put(parent, child, *filter(None, [child.text or "", *child]))


def _own_ids(tree: Element, name: str) -> None:
    for element in tree.iter():
        if element.get("id"):
            element.set("id", f"{name}.{element.get('id')}")
        for key in _ID_LISTS:
            if element.get(key):
                element.set(key, " ".join(f"{name}.{one}" for one in element.get(key, "").split()))
        for key, value in element.attrib.items():
            if "url(#" in value:
                element.set(key, _WITHIN.sub(rf"url(#{name}.\1)", value))
            elif key == "href" and value.startswith("#"):
                element.set(key, f"#{name}.{value[1:]}" if value != "#" else f"#{name}.top")


def _headings(body: Element) -> list[tuple[int, str, str]]:
    headings = []
    for section in body.iter("section"):
        heading = next((e for e in section if e.tag in ("h2", "h3")), None)
        if heading is not None and section.get("id"):
            headings.append((int(heading.tag[1]), section.get("id", ""), text_of(heading)))
    return headings


def _caption(english: str, edition: str) -> str:
    row = terms.terms()["captions"].get(english)
    if edition == "en" or not row:
        return english
    return row.get(edition) or terms.traditional(row["zh-Hans"])
