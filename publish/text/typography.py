"""Chinese typography, and one word for one idea: what a text says in a way that its edition does not."""

import re
from collections.abc import Iterator

from publish.pages import terms
from publish.text.chinese_texts import prose

_WIDE = r"\u3400-\u9fff"
_MARK = re.compile(rf"[{_WIDE}][,;:!?()]|[,;:!?()][{_WIDE}]|[{_WIDE}]\.(?!\w)")
_SIDE = re.compile(rf"[{_WIDE}](?:\*\*)?[A-Za-z0-9]|[A-Za-z0-9%](?:\*\*)?[{_WIDE}]")
_ITALIC = re.compile(rf"(?<![*\w])\*(?![*\s])[^*]*[{_WIDE}][^*]*(?<![*\s])\*(?!\*)")


def faults(text: str) -> Iterator[tuple[int, str, str, str]]:
    """(line, which rule, what stands there, what to write) of a Simplified text, and of what is derived from it."""
    for number, line in prose(text):
        bare = _without_form(line)
        yield from ((number, "half-width punctuation", m[0], "，；：！？（）") for m in _MARK.finditer(bare))
        yield from ((number, "no space", m[0], "a space beside Latin, digits and code") for m in _SIDE.finditer(bare))
        yield from ((number, "italics", m[0], "it without italics: Chinese has none") for m in _ITALIC.finditer(line))
    yield from forbidden(text, "zh-Hans")
    yield from forbidden(terms.traditional(terms.join_lines(text)), "zh-Hant")


def forbidden(text: str, edition: str) -> Iterator[tuple[int, str, str, str]]:
    """Where a text uses a word that the glossary of terms.toml forbids in this edition."""
    rows = [row for row in terms.terms()["glossary"] if edition in row.get("not", {})]
    for number, line in prose(text):
        for row in rows:
            bare = line
            for allowed in row.get("but", []):
                bare = bare.replace(allowed, "")
            for m in re.finditer(row["not"][edition], bare):
                yield number, f"term in {edition}", m[0], row[edition]


def _without_form(line: str) -> str:
    """A line without what is Markdown or a name to fill in, not prose."""
    line = re.sub(r"^\s*(\(\S+\)=|:{3,}\{\w+\}|#+|[-*]|\d+\.)\s*", "", line)
    return re.sub(r"\{\w*\}", " ", line)
