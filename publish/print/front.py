"""Make the cover and the contents before the first page, the same on paper and in the EPUB."""

from itertools import groupby
from xml.etree.ElementTree import Element, SubElement

from minipod.drawing.svg import LINES, ON_COLOUR, PALETTE
from publish import package
from publish.print.whole import Book, full_title


def cover(book: Book) -> Element:
    """Return the cover: title, description, picture, version and licence."""
    section = Element("section", {"id": "cover", "class": "cover"})
    SubElement(section, "h1").text = book.title
    SubElement(section, "p", {"class": "subtitle"}).text = book.ui["subtitle"]
    section.append(picture())
    SubElement(section, "p", {"class": "authors"}).text = book.ui["authors"]
    imprint = f"{book.ui['version'].format(package.version())} · {book.ui['colophon']}"
    SubElement(section, "p", {"class": "version"}).text = imprint
    return section


def picture() -> Element:
    """Return the picture of one program above eight devices, in the colours that they have on all pages."""
    svg = Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "viewBox": "0 0 420 300", "aria-hidden": "true"})
    for i, colour in enumerate(PALETTE):
        x, y = 12 + 100 * (i % 4), 160 + 74 * (i // 4)
        if i < 4:
            wire = {"d": f"M210 84 C 210 130, {x + 48} 104, {x + 48} 156", "fill": "none", "stroke": LINES[5]}
            SubElement(svg, "path", {**wire, "stroke-width": "1.6"})
        SubElement(
            svg,
            "rect",
            dict(zip(("x", "y", "width", "height", "rx"), map(str, (x, y, 96, 66, 5)), strict=True), fill=colour),
        )
        label = {"x": str(x + 48), "y": str(y + 41), "text-anchor": "middle", "font-size": "22", "fill": ON_COLOUR}
        SubElement(svg, "text", {**label, "font-family": "sans-serif"}).text = str(i)
    sheet = {"x": "150", "y": "8", "width": "120", "height": "76", "rx": "5", "fill": "#ffffff", "stroke": ON_COLOUR}
    SubElement(svg, "rect", {**sheet, "stroke-width": "1.6"})
    for y, width in ((26, 60), (42, 88), (58, 72)):
        SubElement(svg, "path", {"d": f"M166 {y}h{width}", "stroke": LINES[0], "stroke-width": "4"})
    return svg


def contents(book: Book) -> Element:
    """Return the contents: parts, pages and their sections, each with a link."""
    section = Element("section", {"id": "contents", "class": "contents"})
    SubElement(section, "h1").text = book.ui["print_contents"]
    for part, articles in groupby(book.articles, key=lambda a: a.part):
        if part:
            SubElement(section, "p", {"class": "part"}).text = part
        outer = SubElement(section, "ol")
        for article in articles:
            item = SubElement(outer, "li")
            _entry(item, f"{article.name}.top", full_title(article, book.ui))
            if below := [(id, title) for level, id, title in article.headings if level == 2]:
                inner = SubElement(item, "ol")
                for id, title in below:
                    _entry(SubElement(inner, "li"), id, title)
    return section


def _entry(item: Element, id: str, title: str) -> None:
    link = SubElement(item, "a", {"href": f"#{id}", "class": "entry"})
    SubElement(link, "span", {"class": "title"}).text = title
