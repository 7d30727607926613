"""Write an edition as a PDF: one long page, which Chromium prints.

Chromium draws the book's pictures and formulas as the site shows them, sets Chinese by its rules, and writes bookmarks,
links and tags into the file; WeasyPrint does not support MathML. Chromium cannot say on which page a link's target is,
so the book is printed, pypdf reads the targets of the links, and the book is printed again with these numbers.
"""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from pygments.formatters import HtmlFormatter
from pypdf import PdfReader, PdfWriter
from pypdf.generic import NameObject, TextStringObject

from minipod.processes import kill_group
from publish import files, progress_line
from publish.print import front
from publish.print.whole import LANGUAGES, XHTML, Book, filename, full_title

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --no-pdf-header-footer".split()
LIMIT = 900.0  # seconds for one printing: a long book on a busy machine
HERE = Path(__file__).parent


def executable() -> str | None:
    """Return the path of a Chromium on this machine, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def write(book: Book, build: Path) -> tuple[Path, str]:
    """Write `BUILD/one-program-many-devices-VERSION-EDITION.pdf`; return its path and the number of its pages.

    Raises RuntimeError if Chromium or Chinese fonts are missing, or if Chromium fails.
    """
    chromium = usable(book)
    done, numbers = build / filename(book.edition, "pdf"), {}
    with tempfile.TemporaryDirectory(prefix="print-") as scratch:
        source, made = Path(scratch, "book.xhtml"), Path(scratch, "book.pdf")
        for turn in (1, 2, 3):
            files.write(source, page(book, numbers))
            progress_line.step(f"{book.edition}: printing, turn {turn}")
            _print(chromium, source, made)
            reader = PdfReader(made)
            printed = {
                str(n)[1:]: 1 + (reader.get_destination_page_number(d) or 0)
                for n, d in reader.named_destinations.items()
            }
            if printed == numbers:  # the page numbers in it are correct
                break
            numbers = printed
        _name_bookmarks(made, _headings(source))
        files.write_bytes(done, made.read_bytes())
    return done, f"{len(reader.pages)} pages"


def usable(book: Book) -> str:
    """Return the path of Chromium. Raises RuntimeError without it or, for Chinese, without Chinese fonts."""
    chromium = executable()
    if not chromium:
        raise RuntimeError("Chromium, which prints the PDF, is not installed: install Debian's package `chromium`")
    if book.edition != "en" and not _chinese_fonts():
        raise RuntimeError("no Chinese font is installed: install Debian's package `fonts-noto-cjk`")
    return chromium


def _name_bookmarks(made: Path, titles: Iterable[str]) -> None:
    """Put the exact titles into the bookmarks. If a heading is broken into lines, Chromium leaves out the space between
    them; if it moved to the next page to stay with its text, Chromium writes it twice.
    """
    known = {"".join(title.split()): " ".join(title.split()) for title in titles}
    writer = PdfWriter(clone_from=made)
    todo = [writer.get_outline_root().get("/First")]
    while todo:
        if (reference := todo.pop()) is None:
            continue
        item = reference.get_object()
        letters = "".join(str(item["/Title"]).split())
        title = known.get(letters) or known.get(letters[: len(letters) // 2])
        if title:
            item[NameObject("/Title")] = TextStringObject(title)
        todo += [item.get("/Next"), item.get("/First")]
    writer.write(made)


def _headings(source: Path) -> Iterator[str]:
    for level in ("h1", "h2", "h3", "h4"):
        for heading in ElementTree.parse(source).iter(f"{{{XHTML}}}{level}"):
            yield " ".join(heading.itertext())


def page(book: Book, numbers: dict[str, int]) -> str:
    """Return the whole book as one XHTML file. numbers: id → the page with this id, as far as known."""
    html = Element("html", {"xmlns": XHTML, "lang": LANGUAGES[book.edition], "xml:lang": LANGUAGES[book.edition]})
    head = SubElement(html, "head")
    SubElement(head, "title").text = book.title
    SubElement(head, "style").text = style(book)
    body = SubElement(html, "body")
    body.append(front.cover(book))
    body.append(front.contents(book))
    part = ""
    for article in book.articles:
        if article.part != part and article.part:
            SubElement(SubElement(body, "section", {"class": "part"}), "p", {"class": "part-title"}).text = article.part
        part = article.part
        article.body.set("style", f"page: {article.name}")
        body.append(article.body)
    for link in html.iter("a"):
        if {"entry", "numbered", "across"} & set((link.get("class") or "").split()):
            link.set("data-page", str(numbers.get(link.get("href", "")[1:], 888)))
    return ElementTree.tostring(html, "unicode")


def style(book: Book) -> str:
    """Return the style sheets, including the running head, which differs from page to page."""
    before, after = (_quoted(text) for text in book.ui["print_page"].split("{}"))
    made = [sheets(), colours(), f"a:is(.numbered, .across)::after {{ content: {before} attr(data-page) {after}; }}"]
    for article in book.articles:
        title = _quoted(full_title(article, book.ui))
        made.append(f"@page {article.name} {{ @top-left {{ content: {title}; }} }}")
    made.append(f"@page {{ @top-right {{ content: {_quoted(book.title)}; }} }}")
    return "\n".join(made)


def sheets() -> str:
    """Return the style sheets for paper."""
    return "\n".join((HERE / name).read_text("utf-8") for name in ("common.css", "paper.css"))


def _quoted(text: str) -> str:
    """Return a text as a string of CSS."""
    return json.dumps(text, ensure_ascii=False)


def colours() -> str:
    """Return the style of code in the colours that it has on a light page."""
    return HtmlFormatter(style="a11y-light").get_style_defs("pre")


def _chinese_fonts() -> bool:
    """Return whether fontconfig knows a font for Chinese; True without fontconfig (macOS has its own)."""
    if not shutil.which("fc-list"):
        return True
    return bool(subprocess.run(["fc-list", ":lang=zh"], capture_output=True, check=False).stdout.strip())


def _print(chromium: str, source: Path, made: Path) -> None:
    """Print once. Raises RuntimeError with Chromium's last line if there is no PDF afterwards."""
    command = [chromium, *FLAGS, f"--user-data-dir={made.parent / 'profile'}", "--generate-pdf-document-outline"]
    command += [f"--print-to-pdf={made}", source.as_uri()]
    made.unlink(missing_ok=True)
    try:
        output = run(command, LIMIT)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"Chromium has not printed the book in {LIMIT:.0f} s") from None
    if not made.exists():
        raise RuntimeError(f"Chromium could not print the book: {(output or 'it gave no reason').splitlines()[-1]}")


def run(command: list[str], limit: float) -> str:
    """Run a Chromium command and return its output; no process is left. Raises TimeoutExpired after `limit` seconds."""
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        env={**os.environ, "DBUS_SESSION_BUS_ADDRESS": "disabled:"},
    ) as process:
        try:
            return process.communicate(timeout=limit)[0].decode("utf-8", "replace").strip()
        finally:
            kill_group(process.pid)
