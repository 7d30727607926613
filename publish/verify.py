"""python -m publish.verify [--since COMMIT] [PAGE…]: check whether cells still give the recorded outputs.

One line is printed for each difference. Pages that measure times are left out; `make record` on an idle machine is for
those. If the page has changed but its outputs are the same, the old recording is kept for the new page.
"""

import argparse
import sys
import time
from dataclasses import replace

from publish import build, progress_line, sync
from publish.outputs import dependencies, execute, ledger, recordings
from publish.outputs.compare import differences
from publish.outputs.execute import Executed, measures
from publish.page import ROOT, Page, read_page, show, written


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m publish.verify", description="Run cells and compare with recorded outputs."
    )
    parser.add_argument("pages", metavar="PAGE", nargs="*", help="page to run, such as ch03_sharding (default: all)")
    parser.add_argument(
        "--since", metavar="COMMIT", help="run only pages whose cells use a file that has changed since this commit"
    )
    options, names = parser.parse_args(arguments), sync.chapters()
    if unknown := [name for name in options.pages if name not in names]:
        print(f"no page is called “{unknown[0]}”: choose from {', '.join(names)}", file=sys.stderr)
        return 2
    try:
        chosen = [name for name in names if name in options.pages or not options.pages]
        return verify(reaching(dependencies.changed_since(options.since, ROOT), chosen) if options.since else chosen)
    except ValueError as error:
        progress_line.problem(str(error))
    return 1


def verify(names: list[str]) -> int:
    """Execute pages, two at a time, and print the cells whose outputs differ from the recording; return 1 if any."""
    start, measured = time.monotonic(), [name for name in names if measures(name, ROOT)]
    names = [n for n in names if n not in measured and read_page(written(n, "en")).cells]
    varying, differing_cells = ledger.read(ROOT).varying, dict[str, int]()

    def one(page: Page) -> Executed:
        name = page.path.stem
        kept = recorded(page)
        result = execute.fresh(page, ROOT)
        if result.failure:
            differing_cells[name] = 1
            progress_line.done(result.failure.report)
        elif kept is None:
            differing_cells[name] = 1
            progress_line.done(f"{name} is not recorded: `make record PAGES={name}`")
        else:
            differing = differences(page, execute.expected(page, ROOT, kept), result.outputs, varying.get(name, ()))
            differing_cells[name] = len(differing)
            for cell, how in differing.items():
                progress_line.done(f"{name}, cell {cell}: {how}")
            if not differing and kept.of != (of := execute.sources(page, ROOT)):
                path = recordings.write(page, ROOT, replace(kept, of=of))
                progress_line.done(f"{show(path)}: same outputs; the recording now belongs to the current page")
        return result

    build.execute(names, one)
    cells, pages = sum(differing_cells.values()), [name for name in names if differing_cells[name]]
    progress_line.done(
        f"{len(names)} pages executed in {time.monotonic() - start:.0f} s: "
        + (f"{cells} cells differ, on {', '.join(pages)}" if cells else "all as recorded")
    )
    if measured:
        progress_line.done(f"left out because they measure: {', '.join(measured)}")
    return int(bool(cells))


def recorded(page: Page) -> recordings.Recording | None:
    """Return a page's recording, stale or not; None without one of as many cells. Raises ValueError if damaged."""
    try:
        return recordings.read(page, ROOT, execute.sources(page, ROOT))
    except recordings.StaleRecording as other:
        return other.recording if len(other.recording.outputs) == len(page.cells) else None


def reaching(files: set[str], names: list[str]) -> list[str]:
    """Return the pages whose cells use one of these files, in tools and lessons."""
    pages = {name: read_page(written(name, "en")) for name in names}
    return [
        name
        for name, page in pages.items()
        if files & {*(p.relative_to(ROOT).as_posix() for p in dependencies.reached(page, ROOT, dependencies.ROOMS))}
        or files & {*execute.sources(page, ROOT)}
        or f"lessons/{name}/demo.py" in files
    ]


if __name__ == "__main__":
    sys.exit(main())
