"""Words that mean the same, in three scripts, and characters that are the same, simplified and traditional."""

import functools
import tomllib

from grader.exercise import chapters
from publish.pages.page import ROOT
from publish.pages.terms import BOOK, terms, traditional


@functools.cache
def groups() -> list[list[str]]:
    """Each group's spellings: a term of the glossary, a thing's names elsewhere, or what readers say for it.

    Sources: [[glossary]] of book/terms.toml, [[elsewhere]] of the chapters, [[same]] of book/search.toml.
    """
    rows = [[*row["en"].split(", "), row["zh-Hans"], row["zh-Hant"]] for row in terms()["glossary"]]
    ours = {_bare(word) for row in rows for word in row}
    for folder in sorted(path.parent for path in (ROOT / "lessons").glob(f"ch*/{chapters.FILE}")):
        for row in chapters.read(folder).elsewhere:
            if (
                sum(_bare(word) in ours for word in row.words["en"]) < 2
            ):  # else its words are not one thing, but several
                rows.append([word for words in row.words.values() for word in words])
    for row in extra()["same"]:
        rows.append(row["words"])
    full = ([*row, *(traditional(word) for word in row if not word.isascii())] for row in rows)
    return [found for row in full if len(found := list(dict.fromkeys(row))) > 1]


@functools.cache
def extra() -> dict:
    """The whole of book/search.toml."""
    return tomllib.loads((BOOK / "search.toml").read_text("utf-8"))


def characters(text: str) -> str:
    """Pairs of a traditional character and its simplified one, for each simplified one that `text` has or would have.

    Folding both the text and the query by them, a browser finds 网格 by 網格 and the other way round.
    """
    from opencc import OpenCC

    simple = OpenCC("t2s")
    every = "".join(map(chr, range(0x4E00, 0xA000)))
    folded = simple.convert(every)
    if len(folded) != len(every):
        raise ValueError(
            "OpenCC no longer converts single characters one by one: publish/search/synonyms.py relies on it"
        )
    wanted = set(simple.convert("".join(sorted({c for c in text if "\u4e00" <= c < "\ua000"}))))
    return "".join(t + s for t, s in zip(every, folded, strict=True) if t != s and s in wanted)


def _bare(word: str) -> str:
    return word.lower().replace("_", "-").removesuffix("s")
