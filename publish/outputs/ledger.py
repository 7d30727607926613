"""book/recordings.toml, the ledger of everything that is recorded, and book/recorded.json, what came of it when.

A row says which program writes which files, and what that program needs. Of what they were recorded is in
recorded.json: a hash of the program and of each file that it reaches, and one of what it wrote.
"""

import json
import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from publish import files
from publish.outputs import dependencies, recordings
from publish.outputs.needs import NEEDS
from publish.outputs.recordings import Made, changed

LEDGER, KEPT = "book/recordings.toml", "book/recorded.json"
RECORDERS = "publish/recorders/"
RECORDERS = "publish/recorders/"


@dataclass(frozen=True)
class Row:
    """What the program `by` records: the files that it writes, what it needs, how many minutes it takes.

    also: the files that it is recorded from and its code does not name (patterns).
    """

    name: str
    by: str
    writes: list[str]
    needs: list[str]
    minutes: int
    also: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Kept:
    """When and with which versions a row was recorded; sums of what it was recorded from, and of what was written."""

    on: str
    versions: dict[str, str]
    of: dict[str, str]
    wrote: dict[str, str]


@dataclass(frozen=True)
class Ledger:
    """The versions that the pages are recorded with, the oldest that are promised, cells that vary, recorders."""

    versions: dict[str, str] = field(default_factory=dict)
    oldest: dict[str, str] = field(default_factory=dict)
    varying: dict[str, list[str]] = field(default_factory=dict)
    rows: dict[str, Row] = field(default_factory=dict)


def read(root: Path) -> Ledger:
    """The ledger; an empty one where there is none. ValueError, in one sentence, for one that cannot be read."""
    if not (root / LEDGER).exists():
        return Ledger()
    try:
        found = tomllib.loads((root / LEDGER).read_text("utf-8"))
        rows = {name: _row(name, row) for name, row in found.get("recorders", {}).items()}
        pages = found["pages"]
        return Ledger(pages["versions"], pages.get("oldest", {}), pages.get("varying", {}), rows)
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{LEDGER}: {error}") from None


def _row(name: str, row: dict[str, Any]) -> Row:
    known = [each.name for each in fields(Row) if each.name != "name"]
    if unknown := [key for key in row if key not in known]:
        raise ValueError(f"[recorders.{name}] has «{unknown[0]}», which is none of {', '.join(known)}")
    if missing := [key for key in known if key not in (*row, "also", "arguments")]:
        raise ValueError(f"[recorders.{name}] does not say «{missing[0]}»")
    return Row(name, **row)


def fault(row: Row, root: Path) -> str:
    """What is wrong with a row, "" where nothing is: its program must be there, its needs be known."""
    if not (root / row.by).is_file():
        return f"{LEDGER}: {row.by}, which records {row.name}, is not there: mend `by`, or take the row out"
    if unknown := [need for need in row.needs if need not in NEEDS]:
        known = ", ".join(NEEDS)
        return f"{LEDGER}: {row.name} needs «{unknown[0]}», which is none of {known}"
    return ""


def written(row: Row, root: Path) -> set[Path]:
    """The files of a row that are there."""
    return {path for name in row.writes if (path := root / name).exists()}


def sources(row: Row, root: Path) -> dict[str, str]:
    """What a row is recorded from, each with a hash: recorders, lessons' programs, and what these reach.

    Neither what it writes nor the tools.
    """
    names = [name for name in (row.by, *row.also) if name.startswith(("lessons/", RECORDERS))]
    first = [path for name in names for path in root.glob(name)]
    reached = dependencies.reached_from(first, (root / row.writes[0]).parent, root)
    return dependencies.sums_of({*reached} - {root / name for name in row.writes}, root)


def kept(root: Path) -> dict[str, Kept]:
    """Row → when and of what it was recorded. ValueError, in one sentence, where recorded.json is damaged."""
    try:
        return {name: Kept(**entry) for name, entry in json.loads(files.read(root / KEPT) or "{}").items()}
    except (ValueError, TypeError, AttributeError):
        raise ValueError(f"{KEPT} is damaged: take it from the version control again") from None


def keep(row: Row, root: Path, made: Made) -> Kept:
    """Note that a row has been recorded now."""
    versions = {"python": made.python, "jax": made.packages["jax"]}
    if "libtpu" in row.needs:
        versions["libtpu"] = recordings.version("libtpu")
    entry = Kept(made.on, versions, sources(row, root), dependencies.sums_of(written(row, root), root))
    save({**kept(root), row.name: entry}, root)
    return entry


def save(entries: dict[str, Kept], root: Path) -> None:
    """Write recorded.json, the rows by name."""
    data: dict[str, Any] = {name: vars(entry) for name, entry in sorted(entries.items())}
    files.write(root / KEPT, json.dumps(data, indent=1) + "\n")


def stale(row: Row, entry: Kept | None, root: Path) -> list[str]:
    """The files that are not what they were when the row was recorded; what it wrote is among them."""
    if entry is None:
        return [row.by]
    wrote = dependencies.sums_of(written(row, root), root)
    return [*changed(entry.of, sources(row, root)), *changed(entry.wrote, wrote)]


def of_other_versions(made: Made, promised: dict[str, str]) -> str:
    """That a recording is not of the versions promised, as the end of a sentence; "" where it is."""
    if of_versions(made, promised):
        return ""
    was, is_to_be = (", ".join(f"{name} {of.get(name)}" for name in promised) for of in (_numbers(made), promised))
    return f"was recorded with {was}, and the book is to be with {is_to_be} ({LEDGER})"


def of_versions(made: Made, promised: dict[str, str]) -> bool:
    """Whether outputs were made with these versions: of Python its first two numbers, of packages the whole one."""
    return _numbers(made).items() >= promised.items()


def pages_of_other_versions(root: Path) -> list[str]:
    """The pages that are not recorded with the newest versions, by name."""
    promised, found = read(root).versions, (root / "book" / "outputs").glob("*.json")
    made = {path.stem: Made(**json.loads(path.read_text("utf-8"))["made"]) for path in found}
    return sorted(name for name, on in made.items() if not of_versions(on, promised))


def _numbers(made: Made) -> dict[str, str]:
    return {"python": ".".join(made.python.split(".")[:2]), **made.packages}


@dataclass(frozen=True)
class Entry:
    """Something recorded, as a table says it. on: a date, "" for never. state: what has changed since then."""

    name: str
    on: str
    versions: str
    needs: list[str]
    state: str


def recorders(root: Path) -> list[Entry]:
    """An entry for each row. ValueError as `read` and `kept`."""
    entries, found = kept(root), list[Entry]()
    for row in read(root).rows.values():
        entry = entries.get(row.name)
        since = fault(row, root) or ", ".join(stale(row, entry, root))
        versions = ", ".join(f"{name} {number}" for name, number in entry.versions.items()) if entry else ""
        found.append(Entry(row.name, entry.on if entry else "", versions, row.needs, since))
    return found
