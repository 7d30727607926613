"""Make the HTML of each edition from its pages and outputs; pages that have not changed are not written again."""

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import nbformat

from grader.notebook import blank_cells
from publish import files, progress_line, reading_time
from publish.outputs.execute import Executed
from publish.page import EDITIONS, ROOT, chapter_of, read_page, written
from publish.pages import beside_editions, editorial, first_cell, notebooks, published, status
from publish.pages.plain_markdown import Links
from publish.reference import fill as reference


def write_editions(build: Path, editions: list[str], executed: dict[str, Executed]) -> dict[str, float]:
    """Write the editions that have changed. Returns the seconds for each (0: unchanged).

    Each is written in its own process (see write_edition.py), all at the same time; the first, for which a person may
    be waiting, has priority. Raises RuntimeError with the warnings of an edition that cannot be written.
    """
    walls = dict.fromkeys(editions, 0.0)
    with ThreadPoolExecutor(max_workers=len(EDITIONS)) as pool:
        writing: list[Future[None]] = []
        for edition in editions:
            progress_line.step(f"{edition}: preparing pages")
            prepared, done = prepare(build, edition, executed), build / "html" / edition / ".stamp"
            if (before := files.read(done).split()) != [prepared.stamp, prepared.names]:
                done.unlink(missing_ok=True)
                later = bool(writing)
                writing.append(pool.submit(_write_edition, build, edition, prepared, before, walls, later))
        try:
            for one in writing:
                one.result()
        finally:
            pool.shutdown(cancel_futures=True)
            beside_editions.write_root_page(build / "html")
            beside_editions.write_for_search_engines(build / "html")
    return walls


def _write_edition(
    build: Path, edition: str, prepared: "Prepared", before: list[str], walls: dict[str, float], later: bool
) -> None:
    begin = time.monotonic()
    _write_pages(build, edition, before[1:] == [prepared.names], later)
    files.write(build / "html" / edition / ".stamp", f"{prepared.stamp} {prepared.names}")
    walls[edition] = time.monotonic() - begin
    progress_line.done(f"{edition}: pages written in {walls[edition]:.1f} s")


def _write_pages(build: Path, edition: str, only_changed: bool, later: bool) -> None:
    """Let Sphinx write the pages; if its cache seems to be damaged, start again without it.

    Raises OSError for a full disk and the like; otherwise RuntimeError with Sphinx's warnings.
    """
    for tries in (1, 2):
        fine, text = _sphinx(build, edition, only_changed and tries == 1, later)
        if fine:
            return
        shutil.rmtree(build / "doctrees" / edition, ignore_errors=True)  # or Sphinx would not repeat its warnings
        numbers = {int(n) for n in re.findall(r"(?:\[Errno |OSError\()(\d+)", text)}
        if disk := numbers & {*files.FULL, *files.FORBIDDEN}:  # in a warning for each page, or in an exception
            raise OSError(min(disk), os.strerror(min(disk)), str(build / "html" / edition))
        warnings = [line for line in text.splitlines() if re.search("WARNING|ERROR", line)]
        if warnings or tries == 2:
            lines = "\n".join(warnings or [text[-2000:]])
            raise RuntimeError(f"{edition}: the pages could not be written:\n{lines}")


def _sphinx(build: Path, edition: str, only_changed: bool, later: bool) -> tuple[bool, str]:
    """Return whether Sphinx wrote the pages, and its output."""
    command = [sys.executable, "-m", "publish.pages.write_edition", edition, str(build), str(os.getpid())]
    command += ["--only-changed"] * only_changed + ["--later"] * later
    quiet = {**os.environ, "PYTHONWARNINGS": "ignore", "PYTHONUNBUFFERED": "1"}  # its own extensions warn
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=ROOT, env=quiet) as process:
        try:
            while True:
                progress_line.step(f"{edition}: writing pages")
                try:
                    output = process.communicate(timeout=0.05)[0].decode("utf-8", "replace")
                    break
                except subprocess.TimeoutExpired:
                    pass
        finally:
            process.kill()
    if process.returncode == -signal.SIGINT:  # Ctrl-C reaches all processes: do not try again
        raise RuntimeError(f"{edition}: interrupted")
    return process.returncode == 0, re.sub(r"\x1b\[[0-9;]*m", "", output).replace(f"{build / 'src'}/", "")


@dataclass(frozen=True)
class Prepared:
    """Hashes of the sources of an edition. names: the hash of what they show of other pages, and of the common look."""

    stamp: str
    names: str


def prepare(build: Path, edition: str, executed: dict[str, Executed]) -> Prepared:
    """Write the notebooks of an edition that have changed, remove those without a page, and return hashes."""
    sources = [
        notebooks.source(read_page(written(name, EDITIONS[edition])), edition, outputs)
        for name, outputs in executed.items()
    ]
    status.fill(sources)
    titles, pages = notebooks.titles(sources)
    notebooks.name_chapters(sources, titles)
    reference.fill(sources)
    titles, pages = notebooks.titles(sources)
    shared, tools = _shared(), _tools()
    src_folder, out_folder = build / "src" / edition, build / "html" / edition / "notebooks"
    if files.read(mark := src_folder / ".shared") != shared:
        for made in ("doctrees", "html"):
            shutil.rmtree(build / made / edition, ignore_errors=True)
        files.write(mark, shared)
    facts = [[src.name, editorial.day(edition, src.name), *_minutes(src.name)] for src in sources]
    sums = [_sum(shared, editorial.version(), json.dumps([titles, facts]))]
    for src in sources:
        first = first_cell.source(edition, src.name, published.address())
        from_what = _sum(
            tools, edition, src.text, first, json.dumps([src.executed.outputs, src.executed.complete, titles, pages])
        )
        both = src_folder / f"{src.name}.ipynb", out_folder / f"{src.name}.ipynb"
        if files.read(stamp := src_folder / f".{src.name}") != (kept := _sum(from_what, *map(files.read, both))):
            notebook = notebooks.with_outputs(src)
            _write(both[0], notebooks.for_sphinx(notebook))
            _write(both[1], notebooks.to_take_away(notebook, src, Links(titles, pages, src.name)))
            files.write(stamp, kept := _sum(from_what, *map(files.read, both)))
        sums.append(kept)
    wanted = {f"{src.name}.ipynb" for src in sources}
    for stale in src_folder.glob("*.ipynb"):
        if stale.name not in wanted:
            stale.unlink(missing_ok=True)
    return Prepared(_sum(*sums), sums[0])


def _minutes(name: str) -> list[int]:
    """Return the minutes for reading and solving that a chapter's page shows at the top; nothing for other pages."""
    return [reading_time.minutes(name, ROOT), chapter.solve] if (chapter := chapter_of(name)) else []


def _tools() -> str:
    """Return a hash of everything that turns pages into notebooks: our code, its words, versions."""
    texts = [*ROOT.glob("lessons/*/chapter.toml"), *ROOT.glob("lessons/*/published.toml"), ROOT / "book" / "terms.toml"]
    code = [*(ROOT / "publish" / "pages").glob("*.py"), Path(blank_cells.__file__)]
    versions = [metadata.version(p) for p in ("jupytext", "nbformat", "opencc")]
    return _sum(*versions, *(path.read_text("utf-8") for path in sorted([*code, *texts])))


def _shared() -> str:
    """Return a hash of everything that Sphinx uses for every page: configuration, look, words, versions."""
    versions = [metadata.version(p) for p in ("jupyter-book", "sphinx-book-theme", "myst-nb", "opencc")]
    paths = [ROOT / name for name in ("_config.yml", "_toc.yml", "book/terms.toml", "publish/files.py")]
    names = ("terms.py", "editorial.py", "published.py", "write_edition.py")
    paths += [ROOT / "publish" / "pages" / name for name in names]
    paths += [ROOT / "book" / "search.toml", *(ROOT / "publish" / "search").glob("*.py")]
    for kind in ("_ext", "_static", "_templates"):
        paths += (p for p in (ROOT / "book" / kind).rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    sums = (hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(paths))
    return _sum(*versions, *published.state(), *sums)


def _sum(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _write(path: Path, notebook: nbformat.NotebookNode) -> None:
    """Write only the files that have changed, so that Sphinx reads only these again."""
    text = nbformat.writes(notebook) + "\n"
    if files.read(path) != text:
        files.write(path, text)
