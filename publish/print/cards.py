"""Draw a card for each chapter and for the book: a PNG, since sites that show cards for shared links take no SVG."""

import copy
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from publish import files
from publish.print import front, paper
from publish.print.whole import LANGUAGES, XHTML, Book

FOLDER = "cards"  # in the folder of an edition; publish/pages/editorial.py names it, too
WIDTH, HEIGHT = 1200, 630  # pixels, as those sites ask for
LIMIT = 120.0  # seconds for one card
STYLE = f"""
body {{ margin: 0; width: {WIDTH}px; height: {HEIGHT}px; box-sizing: border-box; padding: 56px 60px; display: flex;
  gap: 50px; background: #fff; font-family: var(--sans); color: var(--ink);
  border-bottom: 14px solid #3b6ea5; overflow: hidden; }}
.said {{ flex: 1 1 0; min-width: 0; display: flex; flex-direction: column; }}
.book {{ font-size: 27px; color: var(--soft); margin: 0 0 auto; }}
.number {{ font-size: 27px; color: var(--soft); margin: 0 0 12px; }}
h1 {{ font-size: 52px; line-height: 1.25; margin: 0 0 auto; overflow-wrap: break-word; text-wrap: balance; }}
.shown {{ flex: 0 0 520px; display: flex; align-items: center; }}
.shown svg {{ width: 520px; height: auto; max-height: 500px; max-width: 100%; }}
"""


def write(book: Book, build: Path) -> list[Path]:
    """Write `BUILD/html/EDITION/cards/PAGE.png` for each chapter and index. Raises RuntimeError if Chromium fails."""
    chromium = paper.usable(book)
    with ThreadPoolExecutor(max_workers=2) as pool, tempfile.TemporaryDirectory(prefix="cards-") as scratch:
        folder = build / "html" / book.edition / FOLDER
        made = [
            (folder / f"{name}.png", pool.submit(_draw, chromium, page, Path(scratch, name)))
            for name, page in pages(book)
        ]
        for path, drawn in made:
            files.write_bytes(path, drawn.result())
    return [path for path, _ in made]


def pages(book: Book) -> Iterator[tuple[str, str]]:
    """Yield the name and XHTML of each card. A page without a picture gets the book's picture."""
    yield "index", _page(book, "", book.title, front.picture())
    for article in book.articles:
        if article.number:
            svg = next(article.body.iter("svg"), None)
            number = book.ui["chapter"].format(article.number)
            yield article.name, _page(book, number, article.title, front.picture() if svg is None else svg)


def _page(book: Book, number: str, title: str, picture: Element) -> str:
    language = LANGUAGES[book.edition]
    html = Element("html", {"xmlns": XHTML, "lang": language, "xml:lang": language})
    SubElement(SubElement(html, "head"), "style").text = f"{paper.sheets()}\n{STYLE}"
    body = SubElement(html, "body")
    column = SubElement(body, "div", {"class": "said"})
    SubElement(column, "p", {"class": "book"}).text = book.title if number else book.ui["subtitle"]
    SubElement(column, "p", {"class": "number"}).text = number
    SubElement(column, "h1").text = title
    SubElement(body, "div", {"class": "shown"}).append(copy.deepcopy(picture))
    return ElementTree.tostring(html, "unicode")


def _draw(chromium: str, page: str, folder: Path) -> bytes:
    """Return the PNG of a page. Raises RuntimeError if Chromium makes none."""
    source, made = folder / "card.xhtml", folder / "card.png"
    files.write(source, page)
    command = [chromium, *paper.FLAGS, f"--user-data-dir={folder / 'profile'}", "--hide-scrollbars"]
    command += [f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={made}", source.as_uri()]
    try:
        output = paper.run(command, LIMIT)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"Chromium has not drawn a card in {LIMIT:.0f} s") from None
    if not made.exists():
        raise RuntimeError(f"Chromium could not draw a card: {(output or 'it gave no reason').splitlines()[-1]}")
    return made.read_bytes()
