"""python -m publish.check [--no-types] [--since COMMIT]: all that can be said of the project without running it, a line each.

Style and layout of the code (ruff), its types (pyright), floors, circles and what is imported (publish/house.py),
whether the pages are in step, filled in and where they were (publish/sync.py), how the Chinese reads (publish/text).
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from publish import house, sync
from publish.page import ROOT, show
from publish.text import style

BIN = Path(sys.executable).parent


def main(arguments: list[str] | None = None) -> int:
    """Print the findings as they come; 1 where there is any."""
    parser = argparse.ArgumentParser(prog="python -m publish.check", description="Is anything wrong that one can see?")
    parser.add_argument("--no-types", action="store_true", help="leave pyright out, which takes most of the time")
    parser.add_argument("--since", metavar="COMMIT", help="leave it out, too, where no Python has changed since")
    options = parser.parse_args(arguments)
    no_types = options.no_types or bool(options.since and not _python_changed(options.since))
    start, found = time.monotonic(), 0
    pyright = [str(BIN / "pyright"), "--pythonpath", sys.executable, "--outputjson"]  # the others run beside it
    pyright = ["true"] if no_types else pyright
    with subprocess.Popen(pyright, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as typing:
        try:
            looks: list[Callable[[], Iterator[str]]] = [code, layout, lambda: house.faults(ROOT), pages, chinese]
            looks += [] if no_types else [lambda: types(typing.communicate()[0])]
            for line in (line for look in looks for line in _readable(look)):
                print(line, flush=True)
                found += 1
        finally:
            typing.kill()
    print(f"{f'to be mended: {found}' if found else 'nothing to mend'} ({time.monotonic() - start:.0f} s)")
    return 1 if found else 0


def _python_changed(commit: str) -> bool:
    """Whether pyright may find something else; True, too, where git does not know the commit: the tests say so."""
    command = ["git", "diff", "--quiet", commit, "--", "*.py", "*.pyi", "pyproject.toml", "constraints.txt"]
    return subprocess.run(command, cwd=ROOT, capture_output=True).returncode != 0


def _readable(look: Callable[[], Iterator[str]]) -> Iterator[str]:
    """What a look finds, up to a file that is neither Python nor TOML; which one it is, ruff and sync say."""
    try:
        yield from look()
    except (SyntaxError, ValueError) as error:
        yield f"what comes after this cannot be read: {' '.join(str(error).split())}"


def code() -> Iterator[str]:
    """What ruff does not want."""
    run = _ruff("check", "--quiet", "--output-format=concise")
    yield from filter(None, run.stdout.splitlines())
    if run.returncode and not run.stdout.strip():
        yield f"ruff: {' '.join(run.stderr.split())}"


def layout() -> Iterator[str]:
    """Files that are laid out otherwise."""
    for line in _ruff("format", "--diff").stdout.splitlines():
        if line.startswith("--- "):
            yield f"{line.removeprefix('--- ')}: is laid out otherwise: run `make format`"


def _ruff(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([BIN / "ruff", *command, "."], cwd=ROOT, capture_output=True, text=True)


def pages() -> Iterator[str]:
    """What is not in step; what one language lacks and says so is a note, and no finding."""
    result = sync.check()
    for sentence in result.unwritten:
        print(f"note: not yet in both languages: {sentence}")
    yield from result.problems
    yield from (f"{line}: run `make sync`" for _, said in result.stale.values() for line in said.split("\n"))


def chinese() -> Iterator[str]:
    """Sentences to write otherwise."""
    yield from map(str, style.check()[0])


def types(said: str) -> Iterator[str]:
    """What pyright has found, of what it prints as JSON; a note where it has not run."""
    try:
        rows = json.loads(said)["generalDiagnostics"]
    except ValueError:
        print("note: types are not looked at: pyright could not fetch its program from the npm registry")
        return
    for row in rows:
        where = f"{show(Path(row['file']))}:{row['range']['start']['line'] + 1}"
        yield f"{where}: {' '.join(row['message'].split())} ({row.get('rule', row['severity'])})"


if __name__ == "__main__":
    sys.exit(main())
