"""What it took to make the book: the table that stands in for the line `% status table` of a page."""

import platform
from importlib import metadata

import terms
from notebooks import Source

LINE = "% status table"
PACKAGES = ("jax", "jaxlib", "jupyter-book")


def fill(sources: list[Source]) -> None:
    """Put the table into the page that asks for it. The rows are the pages with code that has run."""
    for src in sources:
        if LINE in src.text:
            src.text = src.text.replace(LINE, table(sources, src.edition))


def table(sources: list[Source], edition: str) -> str:
    """Per page its code cells, programs and exercises, and the seconds of its last execution; then the versions."""
    words = {name: row[edition] for name, row in terms.ui().items()}
    rows = [
        [
            f"{{doc}}`{src.name}`",
            sum(c.kind == "cell" for c in src.page.cells),
            sum(c.kind == "program" for c in src.page.cells),
            len(src.page.exercises),
            round(src.executed.seconds, 1),
        ]
        for src in sources
        if src.page.cells and not src.executed.waiting
    ]
    total = [words["status_total"], *(sum(column) for column in list(zip(*rows, strict=True))[1:])]
    head = [words[f"status_{name}"] for name in ("page", "cells", "programs", "exercises", "seconds")]
    lines = [head, ["---", *["---:"] * 4], *rows, total]
    versions = [f"Python {platform.python_version()}", *(f"{p} {metadata.version(p)}" for p in PACKAGES)]
    return "\n".join(_line(cells) for cells in lines) + "\n\n" + ", ".join(versions) + "\n"


def _line(cells: list) -> str:
    return "| " + " | ".join(f"{c:.1f}" if isinstance(c, float) else str(c) for c in cells) + " |"
