"""python -m publish.text.derived_characters: those of the Traditional edition that what stands around them decides.

Simplified 行 is 行 or 列 in Taiwan, 只 is 只 or 隻, 了 is 了 or 瞭. The rules that decide see a few characters only, so
each place where they decided against the usual was read once and stands in book/derived_characters.txt, with two
characters on each side. The command names the places that do not stand there; `--accept` enters them, once they have
been read.
"""

import argparse
import re
import sys
from collections.abc import Iterator

from publish.page import ROOT
from publish.pages import terms
from publish.text.chinese_texts import prose, texts

LIST = ROOT / "book" / "derived_characters.txt"
TABLE = "列欄"  # what 行 and 列 become by rules of terms.toml where they mean rows and columns
RARE = "隻髮瞭箇麵乾錶捲迴剋鬆鬥週檯鬱鍾註併儘係繫里覆"  # what 只发了个面 … become in few places


def contexts(line: str) -> Iterator[str]:
    """The places of a Simplified line where a character was decided by its surroundings, as «這一[行→列]的和»."""
    opencc, rules = terms.converter()
    line = opencc.convert(line)
    for find, put in rules:
        if put in TABLE:
            yield from (_around(m, f"{m[0]}→{put}") for m in re.finditer(find, line))
        line = re.sub(find, put, line)
    yield from (_around(m, m[0]) for m in re.finditer(f"[{RARE}]", line))


def _around(m: re.Match[str], said: str) -> str:
    return f"{m.string[max(0, m.start() - 2) : m.start()]}[{said}]{m.string[m.end() : m.end() + 2]}"


def found() -> dict[str, str]:
    """Each context of the book's Chinese prose, and where it first stands: place, line and sentence."""
    places: dict[str, str] = {}
    for where, text in texts().items():
        for number, line in prose(terms.join_lines(text)):
            for context in contexts(line):
                places.setdefault(context.strip(), f"{where}: line {number}: {line.strip()[:120]}")
    return places


def accepted() -> set[str]:
    """What was read."""
    return {line for line in LIST.read_text("utf-8").split("\n") if line and not line.startswith("#")}


def main() -> int:
    """Name what was not read yet; 1 where there is any."""
    parser = argparse.ArgumentParser(prog="python -m publish.text.derived_characters", description=__doc__)
    parser.add_argument("--accept", action="store_true", help="they have been read, and are right")
    places = found()
    if parser.parse_args().accept:
        head = "# Read, and right: see publish/text/derived_characters.py, which writes this file.\n"
        LIST.write_text(head + "".join(f"{context}\n" for context in sorted(places)), "utf-8")
        return 0
    new = sorted(places.keys() - accepted())
    for context in new:
        print(f"{context}  {places[context]}")
    return 1 if new else 0


if __name__ == "__main__":
    sys.exit(main())
