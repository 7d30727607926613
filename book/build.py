"""python book/build.py [EDITION…]: execute the cells once, then write `_build/html/{en,zh-Hans,zh-Hant}/`."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from importlib import metadata
from pathlib import Path

import nbformat
import notebooks
import progress
import root_page
import status
import sync
from execute import ALONE, CellFailed, Executed, chapter, waiting
from notebooks import EDITIONS
from pages import ROOT, read_page
from plain import Links

BUILD = ROOT / "_build"
EARLY = 30.0  # seconds of executing after which what is there is written


def main(arguments: list[str]) -> int:
    start = time.monotonic()
    if wrong := [a for a in arguments if a not in EDITIONS]:
        print(f"no edition is called «{wrong[0]}»: choose from {', '.join(EDITIONS)}", file=sys.stderr)
        return 2
    editions = [e for e in EDITIONS if e in arguments] or list(EDITIONS)
    progress.step("comparing the pages with the lessons")
    found = sync.check()
    for line in [*found.problems, *(f"{words}: run `make sync`" for _, words in found.stale.values())]:
        print(line, file=sys.stderr)
    if found.problems or found.stale:
        return 1
    begin = time.monotonic()
    try:
        executed = execute(sync.chapters(), lambda so_far: write_early(editions, so_far))
        seconds = time.monotonic() - begin
        for note in [n for e in executed.values() for n in e.notes if e.ran]:
            progress.done(f"note: {note}")
        ran = sum(e.ran for e in executed.values())
        if ran:
            progress.done(f"executed {ran} cells in {seconds:.1f} s")
        walls = write_editions(editions, executed)
    except (CellFailed, ValueError, RuntimeError) as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    first = editions[0]
    cells = " · ".join(f"{e} {ran if e == first else 0}" for e in editions)
    progress.done(f"cells executed by edition: {cells}")
    share = {e: w + (seconds if e == first else 0) for e, w in walls.items()}
    progress.done("seconds by edition: " + " · ".join(f"{e} {w:.1f}" for e, w in share.items()))
    progress.done(f"the book is in _build/html ({time.monotonic() - start:.1f} s); see it with `make serve`")
    return 0


def execute(names: list[str], early: Callable[[dict[str, Executed]], object]) -> dict[str, Executed]:
    """Each chapter's outputs, two chapters at a time: a cell that waits for its processes leaves a core idle.

    Those that measure come last, one by one. If the others take longer than EARLY seconds, `early` is called once with
    the outputs so far, while the rest goes on.
    """
    pages = {name: read_page(ROOT / "book" / "en" / f"{name}.md") for name in names}
    with ThreadPoolExecutor(max_workers=2) as pool:
        running = {name: pool.submit(chapter, page, ROOT) for name, page in pages.items() if name not in ALONE}
        try:
            slow = wait(running.values(), timeout=EARLY, return_when=FIRST_EXCEPTION).not_done
            if slow and all(r in slow or not r.exception() for r in running.values()):
                ready = {name: one.result() for name, one in running.items() if one not in slow}
                early({name: ready.get(name) or waiting(pages[name]) for name in names})
            done = {name: one.result() for name, one in running.items()}
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return {name: done.get(name) or chapter(pages[name], ROOT) for name in names}


def write_early(editions: list[str], so_far: dict[str, Executed]) -> None:
    """Where there is no book yet, nobody waits for the longest chapters to read the first."""
    if (BUILD / "html" / "index.html").exists():
        return
    write_editions(editions, so_far)
    rest = ", ".join(name for name, outputs in so_far.items() if outputs.waiting)
    progress.done(f"you can read the book already, in _build/html; still running, with outputs to come: {rest}")


def write_editions(editions: list[str], executed: dict[str, Executed]) -> dict[str, float]:
    """Write the editions that have changed. Returns each one's seconds (0: unchanged).

    One after the other: two at a time take no less on two cores. Each in a process of its own (see write.py).
    RuntimeError with the warnings of an edition that cannot be written.
    """
    walls: dict[str, float] = {}
    for edition in editions:
        begin = time.monotonic()
        progress.step(f"{edition}: preparing pages")
        stamp, done = prepare(edition, executed), BUILD / "html" / edition / ".stamp"
        walls[edition] = 0.0
        if _read(done) != stamp:
            done.unlink(missing_ok=True)
            _write_pages(edition)
            done.write_text(stamp, "utf-8")
            walls[edition] = time.monotonic() - begin
            progress.done(f"{edition}: pages written in {walls[edition]:.1f} s")
        root_page.write(BUILD / "html")
    return walls


def _write_pages(edition: str) -> None:
    log = BUILD / "log" / f"{edition}.txt"
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(ROOT / "book" / "write.py"), edition]
    quiet = {**os.environ, "PYTHONWARNINGS": "ignore", "PYTHONUNBUFFERED": "1"}  # of Sphinx's own extensions
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, cwd=ROOT, env=quiet)
        try:
            while process.poll() is None:
                progress.step(f"{edition}: writing pages")
                time.sleep(0.05)
        finally:
            process.kill()
    if process.returncode:
        shutil.rmtree(BUILD / "doctrees" / edition, ignore_errors=True)  # it would not warn of the same twice
        text = re.sub(r"\x1b\[[0-9;]*m", "", _read(log)).replace(f"{BUILD / 'src'}/", "")
        told = [line for line in text.splitlines() if re.search("WARNING|ERROR", line)] or [text[-2000:]]
        raise RuntimeError(f"{edition}: the pages could not be written:\n" + "\n".join(told))


def prepare(edition: str, executed: dict[str, Executed]) -> str:
    """Write the notebooks of an edition and return a stamp of all that its pages are made of."""
    folder = ROOT / "book" / EDITIONS[edition]
    sources = [
        notebooks.source(read_page(folder / f"{name}.md"), edition, outputs) for name, outputs in executed.items()
    ]
    status.fill(sources)
    titles, pages = notebooks.titles(sources)
    digest = _shared()
    if _read(mark := BUILD / "doctrees" / edition / ".shared") != digest.hexdigest():
        shutil.rmtree(BUILD / "doctrees" / edition, ignore_errors=True)
        shutil.rmtree(BUILD / "html" / edition, ignore_errors=True)
        mark.parent.mkdir(parents=True)
        mark.write_text(digest.hexdigest(), "utf-8")
    for src in sources:
        digest.update(_write(BUILD / "src" / edition / f"{src.name}.ipynb", notebooks.for_sphinx(src)))
        links = Links(titles, pages, src.name)
        out = BUILD / "html" / edition / "notebooks" / f"{src.name}.ipynb"
        digest.update(_write(out, notebooks.to_take_away(src, links)))
    wanted = {f"{src.name}.ipynb" for src in sources}
    for stale in (BUILD / "src" / edition).glob("*.ipynb"):
        if stale.name not in wanted:
            stale.unlink()
    return digest.hexdigest()


def _shared():
    """A hash of all that every page of an edition is made with: configuration, look, words, tools."""
    versions = [metadata.version(p) for p in ("jupyter-book", "sphinx-book-theme", "myst-nb", "opencc")]
    digest = hashlib.sha256(" ".join(versions).encode())
    files = [ROOT / "_config.yml", ROOT / "_toc.yml", ROOT / "book" / "terms.toml", *(ROOT / "book").glob("*.py")]
    for kind in ("_ext", "_static", "_templates"):
        files += (p for p in (ROOT / "book" / kind).rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    for path in sorted(files):
        digest.update(path.read_bytes())
    return digest


def _write(path: Path, notebook: nbformat.NotebookNode) -> bytes:
    """Write only what has changed, so that Sphinx reads only that again."""
    text = nbformat.writes(notebook) + "\n"
    if _read(path) != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return text.encode()


def _read(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
