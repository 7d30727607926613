"""python -m publish.build [--fresh] [--build FOLDER] [EDITION…]: get the outputs of all cells, then write the pages.

Outputs recorded in book/outputs are used if they fit; the other cells are executed, once for all editions.
"""

import argparse
import functools
import gc
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from publish import addresses, files, kept, options, package, progress_line, sync
from publish.editions import write_editions
from publish.outputs import recordings
from publish.outputs.execute import Executed, chapter, measures
from publish.page import ROOT, Page, read_page, show, written
from publish.pages import published


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m publish.build", description="Build the book.")
    options.add_editions(parser, "build")
    options.add_build(parser, "for the book and its caches")
    parser.add_argument(
        "--fresh", action="store_true", help="execute every cell, even if its output is recorded or cached"
    )
    given = parser.parse_args(arguments)
    try:
        editions = options.chosen(given.editions)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    try:
        return make(given.build.resolve(), editions, given.fresh)
    except OSError as error:
        progress_line.problem(files.sentence(error, "make book"))
    except (ValueError, RuntimeError) as error:
        progress_line.problem(str(error))
    return 1


def make(build: Path, editions: list[str], fresh: bool = False) -> int:
    """Build the editions in `build`. Returns 1 if a page does not agree with its lesson, or a cell has failed.

    Raises OSError, ValueError or RuntimeError if the pages cannot be written.
    """
    start = time.monotonic()
    gc.set_threshold(50_000, 20, 20)  # as in write_edition.py
    progress_line.step("comparing the pages with the lessons")
    kept.load(build / "kept")
    result = sync.check()
    result.stale.pop(ROOT / addresses.LIST, None)  # `make sync` writes it, and no page shows it
    for line in [*result.problems, *(f"{page}: run `make sync`" for _, page in result.stale.values())]:
        progress_line.problem(line)
    if result.problems or result.stale:
        return 1
    begin = time.monotonic()
    one = functools.partial(chapter, root=ROOT, build=build, afresh=fresh)
    executed = execute(sync.chapters(), one)
    seconds = time.monotonic() - begin
    for path in recordings.strangers(sync.chapters(), ROOT):
        progress_line.done(f"note: {path} belongs to no page")
    if recorded := sum(bool(e.made) for e in executed.values()):
        progress_line.done(f"outputs of {recorded} pages are as recorded; `make book FRESH=1` executes every cell here")
    for note in [n for e in executed.values() for n in e.notes if e.ran]:
        progress_line.done(f"note: {note}")
    ran = sum(e.ran for e in executed.values())
    if ran:
        progress_line.done(f"executed {ran} cells in {seconds:.1f} s")
    failed = {name: e.failure for name, e in executed.items() if e.failure}
    for failure in failed.values():
        progress_line.problem(f"\n{failure.report}")
    progress_line.step("building the package")
    if package.write(build):
        progress_line.done(f"packages built: {', '.join(package.filenames())}")
    published.write_environment(build / "html", published.repository())
    walls = write_editions(build, editions, executed)
    kept.save(build / "kept")
    first = editions[0]
    cells = " · ".join(f"{e} {ran if e == first else 0}" for e in editions)
    progress_line.done(f"cells executed by edition: {cells}")
    share = {e: w + (seconds if e == first and ran else 0) for e, w in walls.items()}
    progress_line.done("seconds by edition: " + " · ".join(f"{e} {w:.1f}" for e, w in share.items()))
    place = f"{show(build / 'html')} ({time.monotonic() - start:.1f} s)"
    if failed:
        progress_line.problem(
            f"\nthe book is in {place}, but a cell failed on {', '.join(failed)}: the page says where, and what helps; "
            "`make book` tries again"
        )
        return 1
    progress_line.done(f"the book is in {place}; see it with `make serve`")
    return 0


def execute(names: list[str], one: Callable[[Page], Executed]) -> dict[str, Executed]:
    """Get each chapter's outputs from `one`, two chapters at a time, since a cell that waits leaves a core idle.

    Chapters that measure times come last, one by one. A failed chapter counts as a result; an error, such as a full
    disk, ends the build.
    """
    pages = {name: read_page(written(name, "en")) for name in names}
    with ThreadPoolExecutor(max_workers=2) as pool:
        running = {name: pool.submit(one, page) for name, page in pages.items() if not measures(name, ROOT)}
        try:
            done = {name: future.result() for name, future in running.items()}
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return {name: done.get(name) or one(pages[name]) for name in names}


if __name__ == "__main__":
    sys.exit(main())
