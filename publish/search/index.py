"""Write an edition's index: sections and exercises as a script, which even a page opened from disk can load.

It contains `docs`, rows of [page, anchor, title, titles of boxes, prose, errors, names in code]; `pages`, the title
of each page; `same`, groups of spellings; `stop`; `fold`, pairs of characters; `others`, words that a page
has but no row of docs. book/_static/search.js reads it.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from grader.exercise import chapters
from publish import files, reference
from publish.chapter_toml import read_chapter
from publish.kept import kept
from publish.page import ROOT
from publish.pages import terms
from publish.reference import then_and_now
from publish.search import synonyms
from publish.search.sections import Section, sections, whole

NAME = "search_index.js"
LONGEST_ERROR = 300  # characters
LEAD = 250  # characters of a section of a reference page: the rest is in the chapters, too
_ERROR = re.compile(r"\w(?:Error|Exception)\b\)?(?:: | \(without)|[A-Z]{4,}_[A-Z]{4,}|[Tt]imed out|Warning:")
_WRAPPED = re.compile(r"(\w+(?:Error|Exception)\b.*)\n(.+)(?:\n(.+))?")  # `minipod.expect` takes up to three lines
_HAN, _LATIN = re.compile("[\u3400-\u9fff]+"), re.compile(r"(?=\w*[A-Za-z])[A-Za-z0-9_\u00c0-\u024f]+")
_NAME = re.compile(r"[A-Za-z_\u3400-\u9fff][\w\u3400-\u9fff]{2,}")


def write(folder: Path, pages: list[str]) -> None:
    """Write FOLDER/_static/search_index.js from FOLDER/PAGE.html. Raises OSError if that fails."""
    texts = {page: (folder / f"{page}.html").read_text("utf-8") for page in pages}
    by_page = {page: [*sections(text)] for page, text in texts.items()}
    for page, rows in by_page.items():
        names = _elsewhere(page)
        for i, section in enumerate(rows):
            if names and section.anchor.endswith("-elsewhere"):
                rows[i] = replace(section, inner=[*section.inner, *names])
        if then_and_now.NAMES in (section.anchor for section in rows):
            rows += _old_names(folder.name)
    files.write(
        folder / "_static" / NAME,
        script({page: rows for page, rows in by_page.items() if rows}, map(whole, texts.values())),
    )


def script(by_page: dict[str, list[Section]], texts: Iterable[str] = ()) -> str:
    """Return the index of pages by section; the first has the page's title. texts: everything in the pages."""
    docs = [[page, s.anchor, *_row(page, s)] for page, rows in by_page.items() for s in rows]
    same, stop = synonyms.groups(), synonyms.extra()["stop"]
    index = {
        "pages": {page: _plain(rows[0].title) for page, rows in by_page.items()},
        "same": same,
        "stop": stop,
        "fold": synonyms.characters(json.dumps([docs, same, stop], ensure_ascii=False)),
        "others": others(texts, docs),
        "docs": docs,
    }
    return f"window.searchIndex = {json.dumps(index, ensure_ascii=False, separators=(',', ':'))};\n"


def others(texts: Iterable[str], docs: list[list[str]]) -> str:
    """Return words and pairs of Han characters that are in texts but in no document, to report what is not found."""
    known = _words(" ".join(part for doc in docs for part in doc))
    return " ".join(sorted(set().union(*map(_words, texts)) - known))


@kept
def _words(text: str) -> set[str]:
    han = {run[i : i + 2] for run in _HAN.findall(text) for i in range(len(run) - 1)}
    return han | {word.lower() for word in _LATIN.findall(text)}


def _old_names(edition: str) -> list[Section]:
    """Return a document for each name that old code imports; all lead to the table of these names."""
    made = []
    for name in then_and_now.names():
        now = name.now["en"] if edition == "en" else name.now["zh-Hans"]
        now = f"{name.old} → {now.replace('`', '')}"
        made.append(
            Section(then_and_now.NAMES, name.old, prose=[terms.traditional(now) if edition == "zh-Hant" else now])
        )
    return made


def _elsewhere(page: str) -> list[str]:
    """Return the names for which a chapter has a row in its table of names in other systems."""
    folder = ROOT / "lessons" / page
    rows = read_chapter(folder).elsewhere if chapters.NAME.fullmatch(page) and folder.is_dir() else ()
    return list(dict.fromkeys(word for row in rows for words in row.words.values() for word in words))


def _row(page: str, section: Section) -> list[str]:
    title, inner, prose, errors, names = _texts(section)
    return [title, inner, prose[:LEAD], errors, ""] if page in reference.PAGES else [title, inner, prose, errors, names]


def _texts(section: Section) -> list[str]:
    """Return the texts of a section for its row. From code and output: errors word for word, and each other word once.

    That is a third of the whole text, and readers search programs only for names.
    """
    title, inner, prose = _plain(section.title), " · ".join(map(_plain, section.inner)), _plain("".join(section.prose))
    errors, names = [], dict[str, None]()
    for text in section.code:
        for line in _WRAPPED.sub(lambda match: " ".join(filter(None, match.groups())), text).split("\n"):
            if _ERROR.search(line):
                errors.append(_plain(line)[:LONGEST_ERROR])
            else:
                names |= dict.fromkeys(_NAME.findall(line))
    prose_names = set(_NAME.findall(f"{title} {inner} {prose}"))
    return [title, inner, prose, "\n".join(dict.fromkeys(errors)), " ".join(n for n in names if n not in prose_names)]


def _plain(text: str) -> str:
    return " ".join(text.split())
