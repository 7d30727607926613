"""python -m publish.text.style [WHERE…]: find faults of style in the Chinese of pages and messages, and pages' English.

Place and sentence are printed for everything that book/style.toml forbids, for punctuation that is not Chinese, and for
terms that an edition does not use. WHERE: only paths that begin with this, such as book/zh-Hans/ch03 or
lessons/ch03. The exit status is 1 if anything is found.
"""

import argparse
import functools
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from publish.page import ROOT, WRITTEN, show
from publish.pages import terms
from publish.text.chinese_texts import Sentence, cells, prose, sentences, texts, without_code

DATA = ROOT / "book" / "style.toml"
COLONS, BARE, GLOSS = "colons per 1,000", "bare title", "no gloss"
_BARE = re.compile(r"\{(?:doc|ref)\}`(?![^`<]*(?:章|部分|[Cc]hapter|Part))[^`<]*<(?:sec-)?ch\d\d(?:_\w+)?>`")
_WIDE = r"\u3400-\u9fff"
_MARK = re.compile(rf"[{_WIDE}][,;:!?()]|[,;:!?()][{_WIDE}]|[{_WIDE}]\.(?!\w)")
_SIDE = re.compile(rf"[{_WIDE}](?:\*\*)?[A-Za-z0-9]|[A-Za-z0-9%](?:\*\*)?[{_WIDE}]")
_ITALIC = re.compile(rf"(?<![*\w])\*(?![*\s])[^*]*[{_WIDE}][^*]*(?<![*\s])\*(?!\*)")


@dataclass(frozen=True)
class Finding:
    """A sentence to rewrite. kind: the rule that it breaks. where: the file and, if known, the line."""

    where: str
    kind: str
    sentence: str
    say: str

    def __str__(self) -> str:
        return f"{self.where}: {self.kind}: “{self.sentence}”; say {self.say}"


@functools.cache
def data() -> dict:
    """Return the whole of style.toml."""
    return tomllib.loads(DATA.read_text("utf-8"))


def in_text(where: str, text: str, lines: bool = True) -> Iterator[Finding]:
    """Yield style errors of a Chinese text. lines: name each sentence's line after `where`."""
    for sentence in [*sentences(text), *cells(text)]:
        for row in data()["style"]:
            bare = sentence.text
            for allowed in row.get("but", []):
                bare = bare.replace(allowed, "")
            place = f"{where}:{sentence.line}" if lines else where
            for _ in re.finditer(row["find"], bare):
                yield Finding(place, row["name"], sentence.text, row["say"])


def in_english(where: str, text: str) -> Iterator[Finding]:
    """Yield style errors of an English page, with the line on which each begins."""
    lines = ["" if code else without_code(line) for line, code in terms.with_fences(text)]
    page = "\n".join(lines)
    for row in data()["english"]:
        for m in re.finditer(row["find"].replace(" ", r"\s+"), page, re.M):
            number = page.count("\n", 0, m.start()) + 1
            yield Finding(f"{where}:{number}", row["name"], " ".join(m[0].split()), row["say"])


def without_generated(text: str) -> str:
    """Return a page's text with empty lines in place of exercises and blocks that `make sync` fills."""
    out, inside = [], ""
    for line in text.split("\n"):
        if m := re.fullmatch(r"% (exercise|elsewhere|chapters|lessons)\b.*", line):
            inside = m[1]
        out.append("" if inside else line)
        inside = "" if line == f"% end {inside}" else inside
    return "\n".join(out)


def colons(text: str) -> float:
    """Return the colons in mid-sentence, before no code, list or table, per 1,000 characters of a page's prose.

    Blanks are not counted, and a piece of code is one character.
    """
    characters = count = 0
    for sentence in sentences(text):
        characters += len(re.sub(r"\s", "", sentence.text))
        count += (sentence.text[:-1] if sentence.last else sentence.text).count("：")
    return 1000 * count / max(characters, 1)


def bare_titles(where: str, text: str) -> Iterator[Finding]:
    """Yield references to a chapter whose own words do not say which one; without words, the book names it itself."""
    for number, line in enumerate(text.split("\n"), 1):
        for m in _BARE.finditer(line):
            yield Finding(f"{where}:{number}", BARE, m[0], "第 N 章《…》 or Chapter N, “…”, or {doc}`chNN_name` alone")


def unexplained(pages: dict[str, str]) -> Iterator[Finding]:
    """Yield terms that no page explains, at the first sentence that uses them, and uses before the explanation."""
    for term, english in data()["gloss"].items():
        explained = re.compile(rf"{term}(?:\*\*)?（[^（）]*(?:{english})[^（）]*）", re.I)
        first: tuple[str, Sentence] | None = None
        for where, text in pages.items():
            prose = re.sub(r"^#.*$", "", text, flags=re.M)  # a heading explains nothing
            uses = [s for s in sentences(prose) if term in s.text]
            gloss = next((i for i, s in enumerate(uses) if explained.search(s.text)), None)
            if gloss is not None:
                if gloss:
                    first = (where, uses[0])
                    yield _no_gloss(first, term)
                break
            first = first or ((where, uses[0]) if uses else None)
        else:
            if first:
                yield _no_gloss(first, term)


def _no_gloss(first: tuple[str, Sentence], term: str) -> Finding:
    return Finding(f"{first[0]}:{first[1].line}", GLOSS, first[1].text, f"{term}（English）")


def check(root: Path = ROOT) -> list[Finding]:
    """Return all sentences to rewrite."""
    findings: list[Finding] = []
    chinese = {}
    for edition in WRITTEN:
        for path in sorted((root / "book" / edition).glob("*.md")):
            where, text = show(path, root), without_generated(path.read_text("utf-8"))
            findings += bare_titles(where, text)
            if edition == "en":
                findings += in_english(where, text)
            if edition == "zh-Hans":
                chinese[where] = text
                findings += in_text(where, text)
                if (rate := colons(text)) > data()["colons"]:
                    say = f"at most {data()['colons']}: 因为、所以、也就是说"
                    findings.append(Finding(where, COLONS, f"{rate:.1f}", say))
    findings += unexplained({where: text for where, text in chinese.items() if "/ch" in where})
    for where, text in texts(root).items():
        if where not in chinese:
            findings += in_text(where, text, lines=where.endswith(".md"))
    for where, text in texts(root).items():
        findings += (
            Finding(f"{where}:{number}", kind, text_there, say) for number, kind, text_there, say in typography(text)
        )
    return findings


def typography(text: str) -> Iterator[tuple[int, str, str, str]]:
    """Yield (line, rule, text, correction) for a Simplified text, and for the text derived from it."""
    for number, line in prose(text):
        bare = _without_form(line)
        yield from ((number, "half-width punctuation", m[0], "，；：！？（）") for m in _MARK.finditer(bare))
        yield from ((number, "no space", m[0], "a space beside Latin, digits and code") for m in _SIDE.finditer(bare))
        yield from ((number, "italics", m[0], "it without italics: Chinese has none") for m in _ITALIC.finditer(line))
    yield from forbidden(text, "zh-Hans")
    yield from forbidden(terms.traditional(terms.join_lines(text)), "zh-Hant")


def forbidden(text: str, edition: str) -> Iterator[tuple[int, str, str, str]]:
    """Yield the places where a text uses a word that the glossary of terms.toml forbids in this edition."""
    rows = [row for row in terms.terms()["glossary"] if edition in row.get("not", {})]
    for number, line in prose(text):
        for row in rows:
            bare = line
            for allowed in row.get("but", []):
                bare = bare.replace(allowed, "")
            for m in re.finditer(row["not"][edition], bare):
                yield number, f"term in {edition}", m[0], row[edition]


def _without_form(line: str) -> str:
    """Return a line without Markdown and names to fill in, so that only prose is left."""
    line = re.sub(r"^\s*(\(\S+\)=|:{3,}\{\w+\}|#+|[-*]|\d+\.)\s*", "", line)
    return re.sub(r"\{\w*\}", " ", line)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m publish.text.style", description="Check the style of the texts.")
    parser.add_argument(
        "where", nargs="*", metavar="WHERE", help="check only paths that begin with this, such as book/zh-Hans/ch03"
    )
    wanted = tuple(parser.parse_args(arguments).where) or ("",)
    findings = [one for one in check() if one.where.startswith(wanted)]
    for one in findings:
        print(one)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
