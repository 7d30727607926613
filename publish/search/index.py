"""The index of an edition: its sections and exercises as a script, which a page opened from disk may load, too.

What is in it: `docs`, rows of [page, anchor, title, titles of boxes, prose, errors, names in code]; `pages`, the title
of each page; `same`, groups of spellings; `stop`; `fold`, pairs of characters. book/_static/search.js reads it.
"""

import json
import re
from pathlib import Path

from grader.exercise import chapters
from publish import files, reference
from publish.page import ROOT
from publish.search import synonyms
from publish.search.sections import Section, sections

NAME = "search_index.js"
LONGEST_ERROR = 300  # characters
LEAD = 250  # characters of a section of the pages to look things up in: the rest stands in the chapters, too
_ERROR = re.compile(r"\w(?:Error|Exception)\b\)?(?:: | \(without)|[A-Z]{4,}_[A-Z]{4,}|[Tt]imed out|Warning:")
_WRAPPED = re.compile(r"(\w+(?:Error|Exception)\b.*)\n(.+)(?:\n(.+))?")  # `minipod.expect` takes up to three lines
_NAME = re.compile(r"[A-Za-z_\u3400-\u9fff][\w\u3400-\u9fff]{2,}")


def write(folder: Path, pages: list[str]) -> None:
    """Write FOLDER/_static/search_index.js from FOLDER/PAGE.html. OSError where that cannot be."""
    found = {page: sections((folder / f"{page}.html").read_text("utf-8")) for page in pages}
    for page, rows in found.items():
        names = _elsewhere(page)
        for section in rows:
            section.inner += names if section.anchor.endswith("-elsewhere") else []
    files.write(folder / "_static" / NAME, script({page: rows for page, rows in found.items() if rows}))


def script(found: dict[str, list[Section]]) -> str:
    """The index of pages, each by its sections, the first of which has the page's title."""
    docs = [[page, s.anchor, *_row(page, s)] for page, rows in found.items() for s in rows]
    same, stop = synonyms.groups(), synonyms.extra()["stop"]
    index = {
        "pages": {page: _plain(rows[0].title) for page, rows in found.items()},
        "same": same,
        "stop": stop,
        "fold": synonyms.characters(json.dumps([docs, same, stop], ensure_ascii=False)),
        "docs": docs,
    }
    return f"window.searchIndex = {json.dumps(index, ensure_ascii=False, separators=(',', ':'))};\n"


def _elsewhere(page: str) -> list[str]:
    """The names for which a chapter has a row in its table of what things are called elsewhere."""
    folder = ROOT / "lessons" / page
    rows = chapters.read(folder).elsewhere if chapters.NAME.fullmatch(page) and folder.is_dir() else ()
    return list(dict.fromkeys(word for row in rows for words in row.words.values() for word in words))


def _row(page: str, section: Section) -> list[str]:
    title, inner, prose, errors, names = _texts(section)
    return [title, inner, prose[:LEAD], errors, ""] if page in reference.PAGES else [title, inner, prose, errors, names]


def _texts(section: Section) -> list[str]:
    """What a section adds to its row. Of code and output: the errors, word for word, and each other word once.

    That is a third of all of it, and nobody asks for more of a program than its names.
    """
    title, inner, prose = _plain(section.title), " · ".join(map(_plain, section.inner)), _plain("".join(section.prose))
    errors, names = [], dict[str, None]()
    for text in section.code:
        for line in _WRAPPED.sub(lambda found: " ".join(filter(None, found.groups())), text).split("\n"):
            if _ERROR.search(line):
                errors.append(_plain(line)[:LONGEST_ERROR])
            else:
                names |= dict.fromkeys(_NAME.findall(line))
    said = set(_NAME.findall(f"{title} {inner} {prose}"))
    return [title, inner, prose, "\n".join(dict.fromkeys(errors)), " ".join(n for n in names if n not in said)]


def _plain(text: str) -> str:
    return " ".join(text.split())
