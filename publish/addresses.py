"""Addresses that others may have linked to: a label of a section, an exercise or a figure, in every edition.

Each that was ever published stands in book/addresses.txt, as `ch03_sharding#sec-mesh`, and stays: a heading may get
other words, its label not. `make sync` enters new ones and takes none out.
"""

import re
from collections.abc import Mapping
from pathlib import Path

LIST = "book/addresses.txt"
HEAD = "# Never changed, only added to: `make sync` enters what is new.\n"


def listed(root: Path, pages: Mapping[str, list[str]]) -> tuple[str, list[str]]:
    """Return what the list should hold, "" where it does, and a sentence for each address that is gone.

    pages: the text of each in every language that it is written in
    """
    present = {address for name, texts in pages.items() for address in _addresses(name, texts)}
    path = root / LIST
    before = path.read_text("utf-8").splitlines() if path.exists() else []
    known = {line for line in before if line and not line.startswith("#")}
    text = HEAD + "".join(f"{address}\n" for address in sorted(present | known))
    gone = [
        f"{address} is gone from the pages: links to it from elsewhere break; put the label back"
        for address in sorted(known - present)
    ]
    return "" if present <= known else text, gone


def _addresses(name: str, texts: list[str]) -> set[str]:
    """Return those that are in each of a page's texts."""
    labels = (set(re.findall(r"^\(([\w-]+)\)=", text, re.M)) for text in texts)
    return {name} | {f"{name}#{label}" for label in set.intersection(*labels)}
