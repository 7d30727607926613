"""Keep the addresses to which others may have linked: labels of sections, exercises and figures in every edition.

Every address that was ever published is in book/addresses.txt, such as `ch03_sharding#sec-mesh`, and stays there: a
heading may be reworded, but its label may not change. `make sync` adds new addresses and removes none.
"""

import re
from collections.abc import Mapping
from pathlib import Path

LIST = "book/addresses.txt"
HEAD = "# No line is ever changed or removed: `make sync` adds new addresses.\n"


def listed(root: Path, pages: Mapping[str, list[str]]) -> tuple[str, list[str]]:
    """Return the text that the list should have ("" if it has it), and a sentence for each missing address.

    pages: the text of each page in every language in which it is written
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
    """Return the addresses that are in all texts of a page."""
    labels = (set(re.findall(r"^\(([\w-]+)\)=", text, re.M)) for text in texts)
    return {name} | {f"{name}#{label}" for label in set.intersection(*labels)}
