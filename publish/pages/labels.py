"""Translate the words inside minipod's pictures, tables and process outputs into the reader's language."""

import functools
import html
import re
import tomllib

from publish.page import ROOT, chapter_of
from publish.pages import terms

_PIECES = re.compile(
    r"<(?P<verbatim>pre|code|style|script|title|metadata)\b.*?</(?P=verbatim)>"
    r"|(?P<name>aria-label|alt|title)=(?P<value>\"[^\"]*\"|'[^']*')"
    r"|(?<=>)(?P<text>[^<>]*[A-Za-z][^<>]*)(?=<)",
    re.S,
)


@functools.cache
def _shared() -> list[tuple[re.Pattern, str]]:
    return [(re.compile(row["find"]), row["zh-Hans"]) for row in terms.terms()["labels"]]


@functools.cache
def _rules_of(page: str) -> list[tuple[re.Pattern, str]]:
    """Return a chapter's own labels, before those that all chapters share."""
    rules = chapter.labels if (chapter := chapter_of(page)) else ()
    return [*((re.compile(find), put) for find, put in rules), *_shared()]


@functools.cache
def _figures(page: str) -> dict[str, str]:
    """Return the words of a lesson's table of measured figures, which has both languages; "": of all tables."""
    words: dict[str, str] = {}
    for path in ROOT.glob(f"lessons/{page or '*'}/published.toml"):
        published = tomllib.loads(path.read_text("utf-8"))
        words |= zip(*(published["measured"][edition] for edition in ("en", "zh-Hans")), strict=True)
        rows = (figure["asked"] for part in ("figures", "own") for figure in published[part].values())
        words |= {row["en"]: row["zh-Hans"] for row in rows}
    return words


@functools.cache
def _clauses() -> list[tuple[re.Pattern, str]]:
    return [(re.compile(row["find"]), row["zh-Hans"]) for row in terms.terms()["launch"]]


def _of_a_launch(text: str) -> str | None:
    """Translate the error that `minipod run` reports, clause by clause; None if any clause is unknown."""
    translated, at = "", 0
    while at < len(text):
        for find, put in _clauses():
            if match := find.match(text, at):
                translated, at = translated + match.expand(put), match.end()
                break
        else:
            return None
    return translated


@functools.cache
def label(text: str, edition: str, page: str = "") -> str:
    """Return one label in the words of the page's chapter and of terms.toml; an unknown label stays as it is."""
    bare = text.strip()
    if edition == "en" or not bare:
        return text
    translated = bare
    if rule := next((r for r in _rules_of(page) if r[0].fullmatch(bare)), None):
        translated = rule[0].sub(rule[1], bare)
    elif bare in _figures(page):
        translated = _figures(page)[bare]
    else:
        translated = _of_a_launch(bare) or bare
    return text.replace(bare, terms.traditional(translated) if edition == "zh-Hant" else translated)


def translate(markup: str, edition: str, page: str = "") -> str:
    """Translate the text nodes and accessible names of minipod's HTML or SVG; verbatim text stays as it is."""
    if edition == "en" or "minipod" not in markup:
        return markup

    def replace(match: re.Match) -> str:
        if match["text"]:
            return html.escape(label(html.unescape(match["text"]), edition, page), quote=False)
        if match["value"]:
            text = label(html.unescape(match["value"][1:-1]), edition, page)
            return f'{match["name"]}="{html.escape(text)}"'
        return match[0]

    return _PIECES.sub(replace, markup)
