"""python -m publish.text.style [--counts] [WHERE…]: the Chinese of pages and messages, where a machine can see faults.

Prints place and sentence of all that book/style.toml does not want; `--counts`: how many, by page. WHERE: only what
begins so, e.g. book/zh-Hans/ch03 or lessons/ch03. Exit status 1 where anything was found.
"""

import argparse
import functools
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from publish.page import ROOT, WRITTEN, show
from publish.text import typography
from publish.text.chinese_texts import Sentence, cells, sentences, texts

DATA = ROOT / "book" / "style.toml"
COLONS, BARE, GLOSS = "colons per 1,000", "bare title", "no gloss"
_BARE = re.compile(r"\{(?:doc|ref)\}`(?![^`<]*(?:章|部分|[Cc]hapter|Part))[^`<]*<(?:sec-)?ch\d\d(?:_\w+)?>`")


@dataclass(frozen=True)
class Found:
    """A sentence to write otherwise. kind: which rule says so; where: the file and, if known, the line."""

    where: str
    kind: str
    sentence: str
    say: str

    def __str__(self) -> str:
        return f"{self.where}: {self.kind}: «{self.sentence}»; say {self.say}"


@dataclass(frozen=True)
class Measured:
    """A page's prose. characters: without blanks, a piece of code counted as one; colons: those in mid-sentence."""

    characters: int
    colons: int

    @property
    def rate(self) -> float:
        """Colons in mid-sentence, in 1,000 characters."""
        return 1000 * self.colons / max(self.characters, 1)


@functools.cache
def data() -> dict:
    """The whole of style.toml."""
    return tomllib.loads(DATA.read_text("utf-8"))


def in_text(where: str, text: str, lines: bool = True) -> Iterator[Found]:
    """What a Chinese text says that it should not. lines: name each sentence's line behind `where`."""
    for sentence in [*sentences(text), *cells(text)]:
        for row in data()["style"]:
            bare = sentence.text
            for allowed in row.get("but", []):
                bare = bare.replace(allowed, "")
            place = f"{where}:{sentence.line}" if lines else where
            for _ in re.finditer(row["find"], bare):
                yield Found(place, row["name"], sentence.text, row["say"])


def own(text: str) -> str:
    """A page's text with the lines of its exercises and of what `make sync` fills left empty: they stand elsewhere."""
    out, inside = [], ""
    for line in text.split("\n"):
        if m := re.fullmatch(r"% (exercise|elsewhere|chapters|lessons)\b.*", line):
            inside = m[1]
        out.append("" if inside else line)
        inside = "" if line == f"% end {inside}" else inside
    return "\n".join(out)


def measured(text: str) -> Measured:
    """The length of a page's prose, and its colons that lead into no code block, list or table."""
    characters = colons = 0
    for sentence in sentences(text):
        characters += len(re.sub(r"\s", "", sentence.text))
        colons += len(re.findall("：", sentence.text[:-1] if sentence.last else sentence.text))
    return Measured(characters, colons)


def bare_titles(where: str, text: str) -> Iterator[Found]:
    """References to a chapter in words of their own that do not say which; without words, the book names it itself."""
    for number, line in enumerate(text.split("\n"), 1):
        for m in _BARE.finditer(line):
            yield Found(f"{where}:{number}", BARE, m[0], "第 N 章《…》 or Chapter N, “…”, or {doc}`chNN_name` alone")


def unexplained(pages: dict[str, str]) -> Iterator[Found]:
    """Terms that no page explains, at the first sentence of the book that uses them, and uses above the explanation."""
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


def _no_gloss(first: tuple[str, Sentence], term: str) -> Found:
    return Found(f"{first[0]}:{first[1].line}", GLOSS, first[1].text, f"{term}（English）")


def check(root: Path = ROOT) -> tuple[list[Found], dict[str, Measured]]:
    """All that was found, and the measures of each Chinese page."""
    found: list[Found] = []
    measures, chinese = {}, {}
    for edition in WRITTEN:
        for path in sorted((root / "book" / edition).glob("*.md")):
            where, text = show(path, root), own(path.read_text("utf-8"))
            found += bare_titles(where, text)
            if edition == "zh-Hans":
                chinese[where] = text
                found += in_text(where, text)
                measures[where] = m = measured(text)
                if m.rate > data()["colons"]:
                    found.append(
                        Found(where, COLONS, f"{m.rate:.1f}", f"at most {data()['colons']}: 因为、所以、也就是说")
                    )
    found += unexplained({where: text for where, text in chinese.items() if "/ch" in where})
    for where, text in texts(root).items():
        if where not in chinese:
            found += in_text(where, text, lines=where.endswith(".md"))
    for where, text in texts(root).items():
        found += (Found(f"{where}:{number}", kind, said, say) for number, kind, said, say in typography.faults(text))
    return found, measures


def table(found: list[Found], measures: dict[str, Measured]) -> str:
    """The counts: a line for each page, and for the messages of each folder."""
    kinds = [*(row["name"] for row in data()["style"]), BARE, GLOSS]
    counts: dict[str, Counter] = {where: Counter() for where in measures}
    for one in found:
        counts.setdefault(_group(one.where), Counter())[one.kind] += 1
    lines = ["\t".join(["where", "characters", COLONS, *kinds])]
    for where, count in counts.items():
        m = measures.get(where)
        begin = [where, str(m.characters) if m else "", f"{m.rate:.1f}" if m else ""]
        lines.append("\t".join([*begin, *(str(count[kind]) for kind in kinds)]))
    sums = [str(sum(count[kind] for count in counts.values())) for kind in kinds]
    lines.append("\t".join(["all", str(sum(m.characters for m in measures.values())), "", *sums]))
    return "\n".join(lines)


def _group(where: str) -> str:
    path = where.partition(":")[0]
    return "/".join(path.split("/")[:2]) if path.startswith("lessons/") else path


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m publish.text.style", description="How the Chinese reads, counted.")
    parser.add_argument("--counts", action="store_true", help="only the counts by page")
    parser.add_argument("where", nargs="*", metavar="WHERE", help="only what begins so: book/zh-Hans/ch03")
    options = parser.parse_args(arguments)
    wanted = tuple(options.where) or ("",)
    found, measures = check()
    found = [one for one in found if one.where.startswith(wanted)]
    if options.counts:
        print(table(found, {where: m for where, m in measures.items() if where.startswith(wanted)}))
    for one in [] if options.counts else found:
        print(one)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
