"""The index of an edition: its sections and exercises as a script, which a page opened from disk may load, too.

What is in it: `docs`, rows of [page, anchor, title, titles of boxes, prose, code]; `pages`, the title of each page;
`same`, groups of spellings; `stop`; `fold`, pairs of characters. book/_static/search.js makes words of all that.
"""

import json
import re
from pathlib import Path

from publish import files
from publish.search import synonyms
from publish.search.sections import Section, sections

NAME = "search_index.js"


def write(folder: Path, pages: list[str]) -> None:
    """Write FOLDER/_static/search_index.js from FOLDER/PAGE.html. OSError where that cannot be."""
    found = {page: sections((folder / f"{page}.html").read_text("utf-8")) for page in pages}
    files.write(folder / "_static" / NAME, script({page: rows for page, rows in found.items() if rows}))


def script(found: dict[str, list[Section]]) -> str:
    """The index of pages, each by its sections, the first of which has the page's title."""
    docs = [[page, s.anchor, *_texts(s)] for page, rows in found.items() for s in rows]
    same, stop = synonyms.groups(), synonyms.extra()["stop"]
    text = json.dumps([docs, same, stop], ensure_ascii=False)
    index = {
        "pages": {page: _plain(rows[0].title) for page, rows in found.items()},
        "same": same,
        "stop": stop,
        "fold": synonyms.characters(text),
        "docs": docs,
    }
    return f"window.searchIndex = {json.dumps(index, ensure_ascii=False, separators=(',', ':'))};\n"


def _texts(section: Section) -> list[str]:
    code = [_plain(re.sub(r"[^\w\s]{4,}|\b\d[\d.,e+-]*\b", " ", text)) for text in section.code]  # no rules, no figures
    return [
        _plain(section.title),
        " · ".join(map(_plain, section.inner)),
        _plain("".join(section.prose)),
        "\n".join(filter(None, code)),
    ]


def _plain(text: str) -> str:
    return " ".join(text.split())
