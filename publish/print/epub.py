"""Write an edition as EPUB 3: a file for each page with its pictures and formulas, and a table of contents."""

import copy
import io
import time
import uuid
import zipfile
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from publish import files, package
from publish.print import front
from publish.print.articles import Article
from publish.print.paper import HERE, colours
from publish.print.whole import LANGUAGES, XHTML, Book, filename, full_title, made_at, places

_OPS, _DC = "http://www.idpf.org/2007/ops", "http://purl.org/dc/elements/1.1/"
_CONTAINER = """<?xml version="1.0" encoding="utf-8"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="book/package.opf" media-type="application/oebps-package+xml"/></rootfiles></container>
"""


def write(book: Book, build: Path) -> tuple[Path, str]:
    """Write `BUILD/one-program-many-devices-VERSION-EDITION.epub`, reproducibly; return its path and page count."""
    done = build / filename(book.edition, "epub")
    files.write_bytes(done, packed(contained(book)))
    return done, f"{len(book.articles)} pages"


def packed(content: dict[str, str]) -> bytes:
    """Return the files as an EPUB's zip: its type comes first, uncompressed, and files have no times of their own."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as whole:
        whole.writestr(zipfile.ZipInfo("mimetype"), "application/epub+zip", zipfile.ZIP_STORED)
        for name, text in content.items():
            whole.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def contained(book: Book) -> dict[str, str]:
    """Map the path of each file in the EPUB to its text."""
    where = {id: article.name for id, article in places(book.articles).items()}
    pages = {"cover": front.cover(book), **{a.name: a.body for a in book.articles}}
    made = {"META-INF/container.xml": _CONTAINER, "book/package.opf": _package(book, pages)}
    made["book/nav.xhtml"] = _document(book, book.ui["print_contents"], _navigation(book, where), nav=True)
    made["book/cover.svg"] = _text(front.picture())
    made["book/style.css"] = "\n".join(
        [*((HERE / f"{name}.css").read_text("utf-8") for name in ("common", "epub")), colours()]
    )
    titles = {a.name: full_title(a, book.ui) for a in book.articles}
    for name, body in pages.items():
        made[f"book/{name}.xhtml"] = _document(book, titles.get(name, book.title), _linked(body, name, where))
    return made


def _linked(body: Element, name: str, where: dict[str, str]) -> Element:
    """Return a page whose links name the files to which they lead."""
    body = copy.deepcopy(body)
    for link in body.iter("a"):
        if (href := link.get("href", "")).startswith("#") and where.get(href[1:], name) != name:
            link.set("href", f"{where[href[1:]]}.xhtml{href}")
    return body


def _document(book: Book, title: str, body: Element, nav: bool = False) -> str:
    language = LANGUAGES[book.edition]
    html = Element("html", {"xmlns": XHTML, "lang": language, "xml:lang": language, "xmlns:epub": _OPS})
    head = SubElement(html, "head")
    SubElement(head, "title").text = title
    SubElement(head, "link", {"rel": "stylesheet", "href": "style.css"})
    SubElement(html, "body", {"class": "contents"} if nav else {}).append(body)
    return _text(html)


def _navigation(book: Book, where: dict[str, str]) -> Element:
    """Return the contents in the form that reading systems need: one <nav> with nested lists."""
    nav = Element("nav", {"epub:type": "toc", "id": "toc"})
    SubElement(nav, "h1").text = book.ui["print_contents"]
    outer, part, inside = SubElement(nav, "ol"), "", None
    for article in book.articles:
        if article.part and article.part != part:
            item = SubElement(outer, "li")
            SubElement(item, "span").text = article.part
            inside = SubElement(item, "ol")
        elif not article.part:
            inside = None
        part = article.part
        item = SubElement(outer if inside is None else inside, "li")
        _entry(item, article, f"{article.name}.top", full_title(article, book.ui))
        if below := [(id, title) for level, id, title in article.headings if level == 2]:
            sections = SubElement(item, "ol")
            for id, title in below:
                _entry(SubElement(sections, "li"), article, id, title)
    return nav


def _entry(item: Element, article: Article, id: str, title: str) -> None:
    SubElement(item, "a", {"href": f"{article.name}.xhtml#{id}"}).text = title


def _package(book: Book, pages: dict[str, Element]) -> str:
    """Return package.opf: metadata of the book, its files, and their order."""
    root = Element("package", {"xmlns": "http://www.idpf.org/2007/opf", "version": "3.0", "unique-identifier": "id"})
    about = SubElement(root, "metadata", {"xmlns:dc": _DC})
    name = uuid.uuid5(uuid.NAMESPACE_URL, filename(book.edition, "epub"))
    SubElement(about, "dc:identifier", {"id": "id"}).text = f"urn:uuid:{name}"
    metadata = {"title": book.title, "language": LANGUAGES[book.edition], "creator": book.ui["authors"]}
    metadata |= {"rights": book.ui["colophon"], "description": book.ui["language"]}
    for kind, text in metadata.items():
        SubElement(about, f"dc:{kind}").text = text
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(made_at()))
    SubElement(about, "meta", {"property": "dcterms:modified"}).text = moment
    SubElement(about, "meta", {"property": "schema:version"}).text = package.version()
    SubElement(about, "meta", {"name": "cover", "content": "cover-picture"})
    listed, spine = SubElement(root, "manifest"), SubElement(root, "spine")

    def item(id: str, href: str, kind: str, properties: str = "") -> None:
        attributes = {"id": id, "href": href, "media-type": kind, "properties": properties}
        SubElement(listed, "item", {key: value for key, value in attributes.items() if value})

    item("style", "style.css", "text/css")
    item("cover-picture", "cover.svg", "image/svg+xml", "cover-image")
    item("nav", "nav.xhtml", "application/xhtml+xml", "nav")
    for name, body in pages.items():
        has = [kind for kind, tag in (("svg", "svg"), ("mathml", "math")) if body.find(f".//{tag}") is not None]
        item(name, f"{name}.xhtml", "application/xhtml+xml", " ".join(has))
        SubElement(spine, "itemref", {"idref": name})
        if name == "cover":
            SubElement(spine, "itemref", {"idref": "nav"})
    return _text(root)


def _text(tree: Element) -> str:
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(tree, "unicode")
