"""python -m publish.record [PAGE…]: execute pages here, and write their outputs to book/outputs/ (default: all)."""

import argparse
import sys
import time

from publish import files, progress_line, sync
from publish.build import execute as in_turn
from publish.outputs import execute, recordings
from publish.page import ROOT, Page, show


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m publish.record", description="Execute and record pages.")
    parser.add_argument("pages", metavar="PAGE", nargs="*", help="such as ch03_sharding (default: all)")
    wanted, names = parser.parse_args(arguments).pages, sync.chapters()
    if unknown := [name for name in wanted if name not in names]:
        print(f"no page is called «{unknown[0]}»: choose from {', '.join(names)}", file=sys.stderr)
        return 2
    try:
        return record([name for name in names if not wanted or name in wanted])
    except OSError as error:
        progress_line.problem(files.sentence(error, "make record"))
    return 1


def record(names: list[str]) -> int:
    """Execute these pages and write the recordings of those on which nothing failed. Returns 1 where something did."""
    found = sync.check()
    stale = [f"{words}: run `make sync`" for _, words in found.stale.values()]
    for line in [*found.problems, *stale]:
        progress_line.problem(line)
    if found.problems or stale:
        return 1
    start = time.monotonic()
    executed = in_turn(names, _record)
    for path in recordings.strangers(sync.chapters(), ROOT):
        progress_line.done(f"note: {path} is of no page")
    progress_line.done(f"took {time.monotonic() - start:.1f} s; look at `git diff book/outputs`")
    return int(any(result.failure for result in executed.values()))


def _record(page: Page) -> execute.Executed:
    """Execute one page, and write its recording at once: who interrupts the rest has this one."""
    path, of = recordings.where(page.path.stem, ROOT), execute.sources(page, ROOT)
    result = execute.fresh(page, ROOT)
    if result.failure:
        progress_line.problem(f"\n{result.failure.report}\n{show(path)} stays as it was")
    elif page.cells:
        recordings.write(page, ROOT, recordings.Recording(of, recordings.now(), result.seconds, result.outputs))
        progress_line.done(f"{show(path)}: recorded in {result.seconds:.1f} s")
    return result


if __name__ == "__main__":
    sys.exit(main())
