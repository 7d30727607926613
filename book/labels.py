"""The words inside minipod's pictures, tables and process outputs, in the reader's language."""

import functools
import html
import re

import terms

_PIECES = re.compile(
    r"<(?P<verbatim>pre|code|style|script)\b.*?</(?P=verbatim)>"
    r"|(?P<name>aria-label|alt|title)=(?P<value>\"[^\"]*\"|'[^']*')"
    r"|(?<=>)(?P<text>[^<>]*[A-Za-z][^<>]*)(?=<)",
    re.S,
)


@functools.cache
def _rules(edition: str) -> list[tuple[re.Pattern, str]]:
    rules = []
    for row in terms.terms()["labels"]:
        put = row.get(edition) or terms.traditional(row["zh-Hans"])
        rules.append((re.compile(row["find"]), put))
    return rules


def label(text: str, edition: str) -> str:
    """One label, translated by the rules of terms.toml; a label that no rule knows stays as it is."""
    if edition == "en":
        return text
    bare = text.strip()
    for find, put in _rules(edition):
        if find.fullmatch(bare):
            return text.replace(bare, find.sub(put, bare))
    sentences = re.split(r"(?<=[.;:,])\s+", bare)
    if len(sentences) > 1:
        return text.replace(bare, "".join(label(s, edition) for s in sentences))
    return text


def translate(markup: str, edition: str) -> str:
    """The text nodes and accessible names of a piece of HTML or SVG that minipod made; what is verbatim stays."""
    if edition == "en" or "minipod" not in markup:
        return markup

    def replace(match: re.Match) -> str:
        if match["text"]:
            return html.escape(label(html.unescape(match["text"]), edition), quote=False)
        if match["value"]:
            return f'{match["name"]}="{html.escape(label(html.unescape(match["value"][1:-1]), edition))}"'
        return match[0]

    return _PIECES.sub(replace, markup)
