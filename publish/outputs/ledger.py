"""Read book/recordings.toml, the ledger of everything that is recorded, and book/recorded.json, when it was recorded.

A row says which program writes which files, and what that program needs. recorded.json has a line for each row, with a
hash of its sources (the program and each file that it uses, without docstrings), and a hash of the files that it wrote.
"""

import json
import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from publish import files
from publish.outputs import dependencies, recordings
from publish.outputs.recordings import Made

LEDGER, KEPT = "book/recordings.toml", "book/recorded.json"
RECORDERS = "publish/recorders/"


@dataclass(frozen=True)
class Row:
    """A recorder, the program `by`: the files that it writes, its needs, and how many minutes it takes.

    also: patterns for source files that its code does not name.
    """

    name: str
    by: str
    writes: list[str]
    needs: list[str]
    minutes: int
    also: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Entry:
    """The time and versions of a recording; hashes of its sources and of the files that were written."""

    on: str
    versions: dict[str, str]
    of: str
    wrote: str


@dataclass(frozen=True)
class Ledger:
    """The versions with which pages are recorded, the oldest supported ones, the cells that vary, and the recorders."""

    versions: dict[str, str] = field(default_factory=dict)
    oldest: dict[str, str] = field(default_factory=dict)
    varying: dict[str, list[str]] = field(default_factory=dict)
    rows: dict[str, Row] = field(default_factory=dict)


def read(root: Path) -> Ledger:
    """Return the ledger, empty if there is none. Raises ValueError, in one sentence, if it cannot be read."""
    if not (root / LEDGER).exists():
        return Ledger()
    try:
        table = tomllib.loads((root / LEDGER).read_text("utf-8"))
        rows = {name: _row(name, row) for name, row in table.get("recorders", {}).items()}
        pages = table["pages"]
        return Ledger(pages["versions"], pages.get("oldest", {}), pages.get("varying", {}), rows)
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{LEDGER}: {error}") from None


def _row(name: str, row: dict[str, Any]) -> Row:
    known = [each.name for each in fields(Row) if each.name != "name"]
    if unknown := [key for key in row if key not in known]:
        raise ValueError(f"[recorders.{name}] has `{unknown[0]}`, which is not one of {', '.join(known)}")
    if missing := [key for key in known if key not in (*row, "also", "arguments")]:
        raise ValueError(f"[recorders.{name}] lacks `{missing[0]}`")
    return Row(name, **row)


def fault(row: Row, root: Path) -> str:
    """Return the fault of a row, "" if there is none: its program must exist."""
    if not (root / row.by).is_file():
        return f"{LEDGER}: {row.by}, which records {row.name}, is missing: correct `by`, or remove the row"
    return ""


def written(row: Row, root: Path) -> dict[str, str]:
    """Return the files of a row that exist, each with a hash."""
    return dependencies.sums_of({path for name in row.writes if (path := root / name).exists()}, root)


def sources(row: Row, root: Path) -> dict[str, str]:
    """Return the sources of a row, each with a hash: recorders, lessons' programs, and the files that these use.

    The files that it writes and the tools are left out, and so are the docstrings of programs.
    """
    names = [name for name in (row.by, *row.also) if name.startswith(("lessons/", RECORDERS))]
    first = [path for name in names for path in root.glob(name)]
    reached = dependencies.reached_from(first, (root / row.writes[0]).parent, root)
    files = {*reached} - {root / name for name in row.writes}
    return dependencies.sums_of(files, root, dependencies.without_docstrings)


def entries(root: Path) -> dict[str, Entry]:
    """Map each row to its last recording. Raises ValueError, in one sentence, if recorded.json is damaged."""
    try:
        return {name: Entry(**entry) for name, entry in json.loads(files.read(root / KEPT) or "{}").items()}
    except (ValueError, TypeError, AttributeError):
        raise ValueError(f"{KEPT} is damaged: restore it from version control") from None


def keep(row: Row, root: Path, made: Made) -> None:
    """Store that a row has been recorded now."""
    versions = {"python": made.python, "jax": made.packages["jax"]}
    if "libtpu" in row.needs:
        versions["libtpu"] = recordings.version("libtpu")
    entry = Entry(made.on, versions, _total(sources(row, root)), _total(written(row, root)))
    rows = sorted({**entries(root), row.name: entry}.items())
    lines = [f" {json.dumps(name)}: {json.dumps(vars(each))}" for name, each in rows]
    files.write(root / KEPT, "{\n" + ",\n".join(lines) + "\n}\n")


def is_stale(row: Row, entry: Entry | None, root: Path) -> bool:
    """Return whether the sources of a row have changed, or the row was never recorded."""
    return entry is None or entry.of != _total(sources(row, root))


def is_as_written(row: Row, entry: Entry, root: Path) -> bool:
    """Return whether the files are unchanged since the recorder wrote them."""
    return entry.wrote == _total(written(row, root))


def _total(sums: dict[str, str]) -> str:
    return dependencies.sum_of(json.dumps(sums, sort_keys=True).encode())


def of_other_versions(made: Made, promised: dict[str, str]) -> str:
    """Return the end of a sentence that says that a recording is not of the promised versions; "" if it is."""
    if of_versions(made, promised):
        return ""
    was, is_to_be = (", ".join(f"{name} {of.get(name)}" for name in promised) for of in (_numbers(made), promised))
    return f"was recorded with {was}, but the book uses {is_to_be} ({LEDGER})"


def of_versions(made: Made, promised: dict[str, str]) -> bool:
    """Return whether outputs were made with these versions: Python's first two numbers, packages' whole version."""
    return _numbers(made).items() >= promised.items()


def pages_of_other_versions(root: Path) -> list[str]:
    """Return the pages that are not recorded with the newest versions, by name."""
    promised, paths = read(root).versions, (root / "book" / "outputs").glob("*.json")
    made = {path.stem: Made(**json.loads(path.read_text("utf-8"))["made"]) for path in paths}
    return sorted(name for name, on in made.items() if not of_versions(on, promised))


def _numbers(made: Made) -> dict[str, str]:
    return {"python": ".".join(made.python.split(".")[:2]), **made.packages}
