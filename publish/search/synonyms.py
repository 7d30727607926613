"""Find words with the same meaning, in three scripts, and pairs of simplified and traditional characters."""

import functools
import re
import tomllib
from collections import Counter

from publish.chapter_toml import read_chapters
from publish.page import ROOT
from publish.pages.terms import BOOK, exchanged, terms, traditional

_ALONE = str.maketrans("行列着", "列栏著")  # characters that the edition exchanges in any word
OFTEN = 3  # a word that the book writes less often needs no synonym of its own


@functools.cache
def groups() -> list[list[str]]:
    """Return groups of spellings: a term of the glossary, its names in other systems, and readers' words for it.

    Sources: [[glossary]] of book/terms.toml, [[elsewhere]] of the chapters, [[same]] of book/search.toml, and OpenCC.
    """
    rows = [[*row["en"].split(", "), row["zh-Hans"], row["zh-Hant"]] for row in terms()["glossary"]]
    ours = {_bare(word) for row in rows for word in row}
    for chapter in read_chapters(ROOT / "lessons")[0]:
        for row in chapter.elsewhere:
            several = sum(_bare(word) in ours for word in row.words["en"]) > 1  # all_gather, all_reduce, …
            rows += [] if several else [[word for words in row.words.values() for word in words]]
    rows += [row["words"] for row in extra()["same"]]
    full = ([*row, *(traditional(word) for word in row if not word.isascii())] for row in rows)
    return [spellings for row in [*full, *regional()] if len(spellings := list(dict.fromkeys(row))) > 1]


def _bare(word: str) -> str:
    return word.lower().replace("_", "-").removesuffix("s")


@functools.cache
def extra() -> dict:
    """Return the whole of book/search.toml."""
    return tomllib.loads((BOOK / "search.toml").read_text("utf-8"))


@functools.cache
def regional() -> list[list[str]]:
    """Return pairs of a word on the Simplified pages and the word in Taiwan, if they differ in more than characters.

    Examples: 异步 and 非同步, 流水线 and 管線. These are the shortest runs of two to four characters that differ.
    """
    from opencc import OpenCC

    pages = "".join(path.read_text("utf-8") for path in sorted((BOOK / "zh-Hans").glob("*.md")))
    runs = re.findall("[\u4e00-\u9fff]{2,}", pages)
    simple, pairs = OpenCC("t2s"), dict[str, str]()
    for size in (2, 3, 4):
        counts = Counter(run[i : i + size] for run in runs for i in range(len(run) - size + 1))
        words = [word for word, n in counts.items() if n >= OFTEN and pairs.keys().isdisjoint(_parts(word))]
        if not words:  # of a small book
            continue
        text = exchanged("\n".join(words))
        made = zip(words, text.split("\n"), simple.convert(text).split("\n"), strict=True)
        pairs |= {word: theirs for word, theirs, folded in made if folded not in (word, word.translate(_ALONE))}
    return [[word, theirs] for word, theirs in pairs.items()]


def _parts(word: str) -> set[str]:
    return {word[i:j] for i in range(len(word)) for j in range(i + 2, len(word) + 1)}


def characters(text: str) -> str:
    """Return pairs of a traditional and a simplified character, for each simplified one that `text` has or would have.

    A browser that folds both text and query with these pairs finds 网格 by 網格, and the other way round.
    """
    from opencc import OpenCC

    simple = OpenCC("t2s")
    every = "".join(map(chr, range(0x4E00, 0xA000)))
    folded = simple.convert(every)
    if len(folded) != len(every):
        raise ValueError("OpenCC does not turn each character into one: publish/search/synonyms.py relies on that")
    wanted = set(simple.convert("".join(sorted({c for c in text if "\u4e00" <= c < "\ua000"}))))
    return "".join(t + s for t, s in zip(every, folded, strict=True) if t != s and s in wanted)
