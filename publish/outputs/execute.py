"""Get a chapter's outputs for all editions: as recorded in the tree, or by executing its cells in a scratch folder.

A recording depends on the contents of the page; unrecorded outputs made here depend on tools and versions, too.
"""

import atexit
import functools
import json
import os
import re
import shutil
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from traitlets.config import Config

from grader.exercise.chapters import FILE
from minipod.processes.environment import clean
from publish import files, progress_line
from publish.chapter_toml import read_chapter
from publish.outputs import dependencies, ledger, recordings
from publish.page import Page, show

WORDS = ("words.", "chapter.")  # what editions say, not what cells do
LIMIT = 300  # seconds a cell may take, on a slow machine, too
STARTING = 300  # seconds a kernel may take to start
OPTIONS = {"form of the cache": 2}
# Cells see simulated CPU devices on every machine, and a stable width.
ENVIRONMENT = {"JAX_PLATFORMS": "cpu", "COLUMNS": "88", "PYTHONHASHSEED": "0", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
_resolving = threading.Lock()


@dataclass
class Failure:
    """The reason why the outputs of a page end early or are wrong.

    cell    the index of the cell
    what    "raised", "slow", "died" (the Python process ended) or "warned" (the cells after it ran all the same)
    reason  the lines of the error that the page shows; "" if there are none
    report  page, line and cell, the output so far, the traceback
    """

    cell: int
    what: str
    reason: str
    report: str


@dataclass
class Executed:
    """The outputs of each code cell of a chapter (notebook format).

    ran      how many cells ran now; 0 if the outputs were kept
    seconds  how long the cells took when they ran
    made     when and with which versions they were recorded; None if they were executed on this machine
    oldest   the outputs that differ with the oldest JAX; None if not recorded, or executed on this machine
    failure  the failure of the first cell that failed, if any
    """

    outputs: list[list[dict]]
    ran: int
    seconds: float
    notes: list[str]
    failure: Failure | None = None
    made: recordings.Made | None = None
    oldest: recordings.OldestOutputs | None = None

    @property
    def complete(self) -> int:
        """Return how many cells, counted from the first, have run to their end."""
        if self.failure and self.failure.what != "warned":
            return self.failure.cell
        return len(self.outputs)


def measures(name: str, root: Path) -> bool:
    """Return whether the cells of a page measure times, so that nothing else may run at the same time."""
    folder = root / "lessons" / name
    return (folder / FILE).exists() and read_chapter(folder).measures


def sources(page: Page, root: Path) -> dict[str, str]:
    """Hash everything in a page: its cells, the lessons' files that they use, and its lesson's data."""
    read = [p for kind in ("toml", "txt", "json") for p in (root / "lessons" / page.path.stem).rglob(f"*.{kind}")]
    read = [p for p in read if not p.name.startswith(WORDS)]
    cells = json.dumps([[c.kind, c.name, c.body] for c in page.cells])
    files = {*dependencies.reached(page, root), *read}
    return {recordings.CELLS: dependencies.sum_of(cells.encode()), **dependencies.sums_of(files, root)}


def key(page: Page, root: Path) -> str:
    """Return a hash of everything on which outputs made here depend: the page, tools, versions, options."""
    here = recordings.now()
    tools = {path for room in dependencies.TOOLS for path in (root / room).rglob("*.py")}
    made = [sources(page, root), dependencies.sums_of(tools, root), ENVIRONMENT, here.python, here.packages]
    return dependencies.sum_of(json.dumps([*made, bool(shutil.which("dot")), OPTIONS], sort_keys=True).encode())


def chapter(page: Page, root: Path, build: Path, afresh: bool = False) -> Executed:
    """Return a page's outputs: the recorded ones if they fit, else those in the cache in `build`, else by executing it.

    The outputs of a failed chapter are not kept: the next build tries again. Raises OSError if a write fails.
    """
    if not page.cells:
        return Executed([], 0, 0.0, [])
    if not afresh and (earlier := _recorded(page, root)):
        return earlier
    kept = build / "cells" / f"{page.path.stem}-{key(page, root)}.json"
    if not afresh and (earlier := _kept(kept, len(page.cells))):
        return earlier
    result = fresh(page, root)
    if not result.failure:
        files.write(kept, json.dumps(asdict(result), ensure_ascii=False))
        for old in kept.parent.glob(f"{page.path.stem}-*.json"):
            if old != kept:
                old.unlink(missing_ok=True)
    return result


def _recorded(page: Page, root: Path) -> Executed | None:
    recording, oldest, of = None, None, sources(page, root)
    try:
        recording = recordings.read(page, root, of)
        oldest = recordings.oldest_outputs(page, root, of)
    except ValueError as error:
        progress_line.done(f"note: {error}: not used (`make record PAGES={page.path.stem}` records it again)")
    if recording and (other := ledger.of_other_versions(recording.made, ledger.read(root).versions)):
        progress_line.done(f"note: {show(recordings.where(page.path.stem, root), root)} {other}")
    if not recording:
        return None
    return Executed(recording.outputs, 0, recording.seconds, [], made=recording.made, oldest=oldest)


def _kept(path: Path, count: int) -> Executed | None:
    """Return the outputs in the cache; None if there are none, or the file is damaged."""
    try:
        # pyrefly: ignore[bad-argument-type]
        result = Executed(**{**json.loads(files.read(path)), "ran": 0})
        whole = len(result.outputs) == count and all("output_type" in o for cell in result.outputs for o in cell)
    except (ValueError, TypeError):
        return None
    return result if whole else None


def expected(page: Page, root: Path, recording: recordings.Recording) -> list[list[dict]]:
    """Return the outputs that the cells should give here: those recorded, under the oldest JAX with the differences."""
    oldest = ledger.read(root).oldest
    if not oldest or not ledger.of_versions(recordings.now(), oldest):
        return recording.outputs
    otherwise = recordings.oldest_outputs(page, root, recording.of)
    cells = otherwise.cells if otherwise else {}
    return [cells.get(cell.name, kept) for cell, kept in zip(page.cells, recording.outputs, strict=True)]


@functools.cache
def _resolve_traits() -> None:
    """Make a kernel's client once: traitlets then replaces names by classes, which fails in two threads at a time."""
    NotebookClient(nbformat.v4.new_notebook()).create_kernel_manager().client()


def fresh(page: Page, root: Path) -> Executed:
    """Execute the cells of a page, whatever is recorded or cached."""
    if not page.cells:
        return Executed([], 0, 0.0, [])
    with _resolving:
        _resolve_traits()
    name, start, at = page.path.stem, time.monotonic(), 0
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c.body) for c in page.cells])
    environment = clean(**ENVIRONMENT)
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH", "")]))
    with tempfile.TemporaryDirectory(prefix="book-") as scratch:
        environment["IPYTHONDIR"] = f"{scratch}/.ipython"  # no history, and no start-up files of the reader's own

        def on_start(cell, cell_index):
            nonlocal at
            at = cell_index
            progress_line.step(f"{name}  executing cell {cell_index + 1} of {len(page.cells)}")

        client = NotebookClient(
            notebook,
            timeout=LIMIT,
            startup_timeout=STARTING,
            resources={"metadata": {"path": scratch}},
            on_cell_execute=on_start,
            # sockets are in the scratch folder, not on the network; their list is there, too, not in the reader's home
            config=Config(
                {
                    "KernelManager": {
                        "transport": "ipc",
                        "ip": f"{scratch}/.kernel",
                        "connection_file": f"{scratch}/.kernel.json",
                    }
                }
            ),
        )
        what, why, aside = "", "", Path(scratch, ".kernel.err")  # what Python, JAX or ZeroMQ say when they die
        try:
            with aside.open("wb") as stderr:
                client.execute(env=environment, stderr=stderr)
        except CellExecutionError as error:
            what, why = "raised", f"{error.ename}: {error.evalue}"
        except CellTimeoutError:
            what = "slow"
        except DeadKernelError:
            what, why = "died", _printed(notebook.cells[at]) + files.read(aside)
        except OSError:  # a full disk, not the chapter's fault
            raise
        except Exception as error:  # the kernel does not start, or its socket cannot be made
            what, why = "raised", f"{type(error).__name__}: {error}\n{files.read(aside)}"
        finally:
            atexit.unregister(client._cleanup_kernel)  # nbclient forgets this if the kernel did not start
        why = why.replace(f"{scratch}/", "").replace(scratch, ".")
        outputs = [_tidy(c, page.cells[i].kind, scratch) for i, c in enumerate(notebook.cells)]
    failure = Failure(at, what, _last_lines(why), _report(page, notebook, at, root, what, why)) if what else None
    notes: list[str] = []
    for number, (cell, kept) in enumerate(zip(page.cells, outputs, strict=True)):
        for text in [o["text"] for o in kept if o.get("name") == "stderr"]:
            if failure:
                break
            if re.search(r"Warning\b", text):
                failure = Failure(number, "warned", _last_lines(text), f"{_where(page, cell, root)} warns:\n{text}")
            else:
                notes.append(f"{_where(page, cell, root)} wrote to stderr (not shown): {text.strip().splitlines()[0]}")
        kept[:] = [o for o in kept if o.get("name") != "stderr" and o["output_type"] != "error"]
    ran = at + 1 if what else len(page.cells)
    return Executed(outputs, ran, time.monotonic() - start, notes, failure=failure)


def _where(page: Page, cell, root: Path) -> str:
    return f"{show(page.path, root)}:{cell.first + 1}: cell `{cell.name}`"


def _printed(cell) -> str:
    """Return the text that a cell has printed."""
    return "".join(o.text for o in cell.outputs if o.output_type == "stream")


def _plain(text: str) -> str:
    """Return the text without colours and other control characters."""
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", "", re.sub(r"\x1b\[[0-9;]*m", "", text))


def _last_lines(text: str) -> str:
    """Return the lines of an error that a page shows: up to eight, or else the first four and the last three."""
    lines = [line[:300] for line in _plain(text).splitlines() if line.strip()]
    return "\n".join(lines if len(lines) <= 8 else [*lines[:4], "…", *lines[-3:]])


def _report(page: Page, notebook, at: int, root: Path, what: str, why: str) -> str:
    """Return one sentence that names page and cell, the output so far, and the traceback."""
    reason = {"slow": f"took longer than {LIMIT} s", "died": f"ended the Python process\n{why}"}.get(what, why)
    lines = [f"{_where(page, page.cells[at], root)} failed: {_plain(reason).rstrip()}"]
    if what != "died":
        lines.append(_printed(notebook.cells[at]).rstrip())
    for output in notebook.cells[at].outputs:
        if output.output_type == "error":
            lines += [_plain(line) for line in output.traceback]
    return "\n".join(filter(None, lines))


def _tidy(cell, kind: str, scratch: str) -> list[dict]:
    """Make outputs the same in every run: join neighbouring streams, and remove the name of the scratch folder."""
    if kind == "program":
        return []  # only “Writing file.py”
    kept: list[dict] = []
    for output in cell.outputs:
        output = json.loads(json.dumps(output).replace(f"{scratch}/", "").replace(scratch, "."))
        if "text" in output:  # JAX 0.12 prints where it was when it could not lay out a result
            output["text"] = re.sub(r"/\S+/ipykernel_\d+/\d+\.py(?=:\d)", "<cell>", output["text"])
        output.pop("execution_count", None)
        if output["output_type"] == "stream" and kept and kept[-1].get("name") == output["name"]:
            kept[-1]["text"] += output["text"]
        else:
            kept.append(output)
    return kept
