"""Addresses that others may have linked to: `python -m publish.addresses`.

A label of a section, an exercise or a figure is its address on the page, in every edition. Each that was ever published
stands in book/addresses.txt, as `ch03_sharding#sec-mesh`, and stays: a heading may get other words, its label not. The
command names those that are gone; `--accept` enters the new ones, and takes nothing out.
"""

import argparse
import re
import sys

from publish.page import ROOT

LIST = ROOT / "book" / "addresses.txt"
HEAD = "# Never changed, only added to: see publish/addresses.py, which writes this file.\n"


def on_pages(edition: str) -> set[str]:
    """The addresses of an edition's pages as they are."""
    found: set[str] = set()
    for page in (ROOT / "book" / edition).glob("*.md"):
        text = page.read_text("utf-8")
        found |= {page.stem} | {f"{page.stem}#{label}" for label in re.findall(r"^\(([\w-]+)\)=", text, re.M)}
    return found


def listed() -> set[str]:
    """Those that were published."""
    lines = LIST.read_text("utf-8").splitlines() if LIST.exists() else []
    return {line for line in lines if line and not line.startswith("#")}


def main(arguments: list[str] | None = None) -> int:
    """Name what is gone, or is not listed yet; 1 where there is any."""
    parser = argparse.ArgumentParser(prog="python -m publish.addresses", description=__doc__)
    parser.add_argument("--accept", action="store_true", help="enter the new ones")
    there = on_pages("en") & on_pages("zh-Hans")
    if gone := sorted(listed() - there):
        print("\n".join(f"{address} is gone: links to it from elsewhere break; put the label back" for address in gone))
        return 1
    if parser.parse_args(arguments).accept:
        LIST.write_text(HEAD + "".join(f"{address}\n" for address in sorted(there)), "utf-8")
        return 0
    new = sorted(there - listed())
    print("\n".join(f"{address} is new: enter it with --accept" for address in new), end="\n" if new else "")
    return 1 if new else 0


if __name__ == "__main__":
    sys.exit(main())
