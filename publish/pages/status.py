"""Report how the book was made, in tables that replace `% status table` and `% recorders table` on a page."""

from collections.abc import Iterator

from publish.outputs import ledger, recordings
from publish.outputs.recordings import Made
from publish.page import ROOT
from publish.pages import terms
from publish.pages.notebooks import Source, failure_label, oldest_label

LINE, RECORDERS = "% status table", "% recorders table"
PACKAGES = ("jax", "jaxlib")


def fill(sources: list[Source]) -> None:
    """Put the tables into the page that asks for them. The rows of the first one are the pages whose code has run."""
    for src in sources:
        if RECORDERS in src.text:
            src.text = src.text.replace(RECORDERS, recorders(src.edition))
        if LINE in src.text:
            src.text = src.text.replace(LINE, table(sources, src.edition))


def table(sources: list[Source], edition: str) -> str:
    """Return the table: for each page, cells and programs that ran, exercises, seconds and place of the last run.

    If a cell failed, the seconds are replaced by a link to it. Below are the versions with which pages were executed,
    and a list of the cells whose output differs with the oldest JAX.
    """
    ui = terms.ui_in(edition)
    rows, seconds, recorded = [], 0.0, list[Made]()
    for src in sources:
        if not src.page.cells:
            continue
        ran, failure = src.page.cells[: src.executed.complete], src.executed.failure
        counts = [sum(c.kind == "cell" for c in ran), sum(c.kind == "program" for c in ran), len(src.page.exercises)]
        took = round(src.executed.seconds, 1)
        seconds += took
        made = src.executed.made
        if made and made not in recorded:
            recorded.append(made)
        where = ui["status_recorded"].format(made.on) if made else ui["status_here"]
        problem = ui["status_warned" if failure.what == "warned" else "status_failed"] if failure else ""
        how_long = f"{{ref}}`{problem} <{failure_label(src.name)}>`" if problem else took
        rows.append([f"{{doc}}`{src.name}`", *counts, how_long, where])
    sums = [sum(row[column] for row in rows) for column in (1, 2, 3)]
    total = [ui["status_total"], *sums, seconds, ""]
    head = [ui[f"status_{name}"] for name in ("page", "cells", "programs", "exercises", "seconds", "outputs")]
    lines = [head, ["---", *["---:"] * 4, "---"], *rows, total]
    made = [ui["status_recorded_with"].format(m.on, _versions(m), m.platform) for m in recorded]
    if len(rows) > sum(bool(src.executed.made) for src in sources):
        here = recordings.now()
        made.append(ui["status_here_with"].format(_versions(here), here.platform))
    return "\n\n".join(["\n".join(_line(cells) for cells in lines), *made, *_oldest(sources, ui)]) + "\n"


def _oldest(sources: list[Source], ui: dict[str, str]) -> Iterator[str]:
    """Yield links to the outputs that differ with the oldest JAX, and the pages for which that is unknown."""
    tried = {src.name: src.executed.oldest for src in sources if src.executed.oldest}
    if not tried:
        return
    yield ui["status_oldest"].format(", ".join(sorted({each.made.packages["jax"] for each in tried.values()})))
    rows = {
        name: ui["recorder_between"].join(f"{{ref}}`{cell} <{oldest_label(name, cell)}>`" for cell in each.cells)
        for name, each in tried.items()
    }
    rows |= {src.name: ui["status_oldest_unknown"] for src in sources if src.page.cells and src.name not in tried}
    item = "- " + ui["status_oldest_of"]
    yield "\n".join(item.format(f"{{doc}}`{name}`", links) for name, links in rows.items() if links)


def recorders(edition: str) -> str:
    """Return the table of recorders: when each ran, with which versions, its needs, and whether it is outdated."""
    ui = terms.ui_in(edition)
    lines = [[ui[f"recorder_{name}"] for name in ("what", "on", "with", "needs", "since")], ["---"] * 5]
    entries = ledger.entries(ROOT)
    for row in ledger.read(ROOT).rows.values():
        entry = entries.get(row.name)
        on = entry.on if entry else ui["recorder_never"]
        versions = ", ".join(f"{name} {number}" for name, number in entry.versions.items()) if entry else ""
        needs = ui["recorder_between"].join(ui[f"need_{need}"] for need in row.needs)
        since = ui["recorder_changed" if ledger.is_stale(row, entry, ROOT) else "recorder_same"]
        lines.append([f"`{row.name}`", on, versions, needs, since])
    return "\n".join(map(_line, lines)) + "\n"


def _versions(made: Made) -> str:
    return ", ".join([f"Python {made.python}", *(f"{p} {made.packages.get(p, '')}".strip() for p in PACKAGES)])


def _line(cells: list) -> str:
    return "| " + " | ".join(f"{c:.1f}" if isinstance(c, float) else str(c) for c in cells) + " |"
