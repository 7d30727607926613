"""python -m publish.record [PAGE…]: execute pages here and write their outputs to book/outputs/ (default: all).

With the oldest supported JAX (book/recordings.toml) it writes only the outputs that differ from the newest JAX's.

With `--what NAME`, it runs one of the recorders in book/recordings.toml, or several: `--what '*_plans'`. The book's
status page shows when each ran, with which versions, what it needs, and whether its sources have changed since.
"""

import argparse
import fnmatch
import os
import subprocess
import sys
import time

from minipod.processes.environment import clean
from publish import files, progress_line, sync
from publish.build import execute as in_turn
from publish.outputs import execute, ledger, recordings
from publish.outputs.compare import differences
from publish.outputs.execute import measures
from publish.page import ROOT, Page, show


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m publish.record", description="Run cells and record their outputs.")
    parser.add_argument("pages", metavar="PAGE", nargs="*", help="page to run, such as ch03_sharding (default: all)")
    parser.add_argument(
        "--what", metavar="NAME", help="run the recorders with this name or pattern instead, such as '*_plans'"
    )
    options = parser.parse_args(arguments)
    wanted, names = options.pages, sync.chapters()
    if unknown := [name for name in wanted if name not in names]:
        print(f"no page is called “{unknown[0]}”: choose from {', '.join(names)}", file=sys.stderr)
        return 2
    try:
        if options.what:
            return run(options.what)
        return record([name for name in names if not wanted or name in wanted])
    except OSError as error:
        progress_line.problem(files.sentence(error, "make record"))
    except ValueError as error:
        progress_line.problem(str(error))
    return 1


def record(names: list[str]) -> int:
    """Execute these pages and write the recordings of those without failures. Returns 1 if anything failed."""
    state = sync.check()
    stale = [f"{page}: run `make sync`" for _, page in state.stale.values()]
    for line in [*state.problems, *stale]:
        progress_line.problem(line)
    if state.problems or stale:
        return 1
    start = time.monotonic()
    executed = in_turn(names, _record)
    for path in recordings.strangers(sync.chapters(), ROOT):
        progress_line.done(f"note: {path} belongs to no page")
    progress_line.done(f"took {time.monotonic() - start:.1f} s; look at `git diff book/outputs`")
    return int(any(result.failure for result in executed.values()))


def _record(page: Page) -> execute.Executed:
    """Execute one page and write its recording at once, so that it is kept if the rest is interrupted."""
    path, of = recordings.where(page.path.stem, ROOT), execute.sources(page, ROOT)
    result = execute.fresh(page, ROOT)
    if result.failure:
        progress_line.problem(f"\n{result.failure.report}\n{show(path)} is unchanged")
    elif page.cells:
        recording = recordings.Recording(of, recordings.now(), result.seconds, result.outputs)
        path = recordings.write(page, ROOT, recording, _otherwise(page, recording))
        progress_line.done(f"{show(path)}: recorded in {result.seconds:.1f} s")
    return result


def _otherwise(page: Page, recording: recordings.Recording) -> dict[str, str] | None:
    """Return the cells that differ, if this is the oldest JAX and the page is recorded with the newest one."""
    book, name = ledger.read(ROOT), page.path.stem
    try:
        newest = recordings.read(page, ROOT, recording.of)
    except ValueError:
        return None
    if (
        not newest
        or ledger.of_versions(newest.made, book.oldest)
        or not ledger.of_versions(recording.made, book.oldest)
    ):
        return None
    differing = differences(page, newest.outputs, recording.outputs, book.varying.get(name, ()), measures(name, ROOT))
    for cell, how in differing.items():
        progress_line.done(f"{name}, cell {cell}: {how}")
    return differing


def run(what: str) -> int:
    """Run the recorders of that name or pattern, one after the other, and store hashes of their sources.

    Raises ValueError before anything runs if there is no such recorder or program, or the machine is busy.
    """
    rows = ledger.read(ROOT).rows
    chosen = [row for name, row in rows.items() if fnmatch.fnmatchcase(name, what)]
    if not chosen:
        raise ValueError(f"no recorder is called “{what}”: choose from {', '.join(rows)}")
    for row in chosen:
        if fault := ledger.fault(row, ROOT):
            raise ValueError(fault)
        if "idle" in row.needs and (load := os.getloadavg()[0]) > (os.cpu_count() or 1) / 4:
            raise ValueError(f"{row.name} measures times: it needs an idle machine, but the load is {load:.1f}")
    for row in chosen:
        progress_line.done(f"{row.name}: {row.by} runs, about {row.minutes} min")
        before = ledger.written(row, ROOT)
        command = [sys.executable, str(ROOT / row.by), *row.arguments]
        if code := subprocess.run(command, cwd=ROOT, env=clean(PYTHONPATH=str(ROOT)), check=False).returncode:
            raise ValueError(f"{row.by} ended with {code}: nothing is recorded for {row.name}")
        ledger.keep(row, ROOT, recordings.now())
        other = recordings.changed(before, ledger.written(row, ROOT))
        progress_line.done(f"{row.name}: {', '.join(other)} changed" if other else f"{row.name}: as before")
    return 0


if __name__ == "__main__":
    sys.exit(main())
