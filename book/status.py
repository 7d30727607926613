"""What it took to make the book: the table that stands in for the line `% status table` of a page."""

import platform
from importlib import metadata

import terms
from notebooks import Source, failure_label

LINE = "% status table"
PACKAGES = ("jax", "jaxlib", "jupyter-book")


def fill(sources: list[Source]) -> None:
    """Put the table into the page that asks for it. The rows are the pages with code that has run."""
    for src in sources:
        if LINE in src.text:
            src.text = src.text.replace(LINE, table(sources, src.edition))


def table(sources: list[Source], edition: str) -> str:
    """Per page the code cells and programs that ran, its exercises, and the seconds of its last execution.

    Where a cell failed, a link to it stands in place of the seconds. Then the versions.
    """
    words = {name: row[edition] for name, row in terms.ui().items()}
    rows, seconds = [], 0.0
    for src in sources:
        if not src.page.cells or src.executed.waiting:
            continue
        ran, failure = src.page.cells[: src.executed.complete], src.executed.failure
        counts = [sum(c.kind == "cell" for c in ran), sum(c.kind == "program" for c in ran), len(src.page.exercises)]
        took = round(src.executed.seconds, 1)
        seconds += took
        said = words["status_warned" if failure.what == "warned" else "status_failed"] if failure else ""
        rows.append([f"{{doc}}`{src.name}`", *counts, f"{{ref}}`{said} <{failure_label(src.name)}>`" if said else took])
    sums = [sum(row[column] for row in rows) for column in (1, 2, 3)]
    total = [words["status_total"], *sums, seconds]
    head = [words[f"status_{name}"] for name in ("page", "cells", "programs", "exercises", "seconds")]
    lines = [head, ["---", *["---:"] * 4], *rows, total]
    versions = [f"Python {platform.python_version()}", *(f"{p} {metadata.version(p)}" for p in PACKAGES)]
    return "\n".join(_line(cells) for cells in lines) + "\n\n" + ", ".join(versions) + "\n"


def _line(cells: list) -> str:
    return "| " + " | ".join(f"{c:.1f}" if isinstance(c, float) else str(c) for c in cells) + " |"
