"""python -m publish.check: find problems in the project without running it; print a line for each.

The checks are the style and layout of code (ruff), its types (pyrefly), which package imports which (import-linter),
whether imported packages are declared (deptry), whether the pages are in step with the lessons, complete, and at their
old addresses (publish/sync.py), and the style of the texts (publish/text).
"""

import argparse
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

from publish import sync
from publish.page import ROOT
from publish.text import style

BIN = Path(sys.executable).parent
# For deptry: the folders that are checked together, and which extras of pyproject.toml they may import from.
EXTRAS = {
    "grader": ("class", "learn"),
    "solutions lessons lessons/*/": ("chapters", "learn", "pods", "launchers", "neighbours", "libraries", "examples"),
    "publish book/_ext book": ("book", "chapters", "learn"),
    "tests tests/support tests/support/grader book .ci": None,  # all of them
}
MINIPOD = ("minipod", "--config=minipod/pyproject.toml", "--known-first-party=minipod", "--ignore=DEP002")


def main(arguments: list[str] | None = None) -> int:
    """Print the findings as they come; return 1 if there are any."""
    parser = argparse.ArgumentParser(prog="python -m publish.check", description="Check code, pages and language.")
    parser.parse_args(arguments)
    start, findings = time.monotonic(), 0
    looks: list[Callable[[], Iterator[str]]] = [code, layout, types, packages, imports, pages, chinese]
    for line in (line for look in looks for line in _readable(look)):
        print(line, flush=True)
        findings += 1
    result = f"to be fixed: {findings}" if findings else "nothing to fix"
    print(f"{result} ({time.monotonic() - start:.0f} s)")
    return 1 if findings else 0


def _readable(look: Callable[[], Iterator[str]]) -> Iterator[str]:
    """Yield the findings of one check, until a file is not valid Python or TOML; ruff and sync name that file."""
    try:
        yield from look()
    except (SyntaxError, ValueError) as error:
        yield f"the check stops here: {' '.join(str(error).split())}"


def code() -> Iterator[str]:
    """Yield ruff's findings."""
    run = _run("ruff", "check", "--quiet", "--output-format=concise", ".")
    yield from filter(None, run.stdout.splitlines())
    if run.returncode and not run.stdout.strip():
        yield f"ruff: {' '.join(run.stderr.split())}"


def layout() -> Iterator[str]:
    """Yield the files that are not formatted."""
    for line in _run("ruff", "format", "--diff", ".").stdout.splitlines():
        if line.startswith("--- "):
            yield f"{line.removeprefix('--- ')}: is not formatted: run `make format`"


def types() -> Iterator[str]:
    """Yield findings about types."""
    run = _run("pyrefly", "check", "--python-interpreter-path", sys.executable, "--output-format", "min-text")
    errors = re.findall(r"^ERROR (.+?):(\d+)\S* (.+)$", run.stdout, re.M)
    yield from (f"{path}:{line}: {what}" for path, line, what in errors)
    if run.returncode and not errors:
        yield f"pyrefly: {' '.join(run.stderr.split())}"


def packages() -> Iterator[str]:
    """Yield imports that break a contract of [tool.importlinter]: from a higher layer, or in a cycle."""
    report = _run("lint-imports", "--no-logo", "--no-cache").stdout
    if "Contracts: " not in report:
        yield f"import-linter: {' '.join(report.split())}"
    for link in re.findall(r"^[ -]*(\S+ -> .+)$", report, re.M):
        yield f"{link} breaks a contract of [tool.importlinter] in pyproject.toml"


def imports() -> Iterator[str]:
    """Yield imported modules that neither the dependencies nor the extras for the folder declare."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    runs: list[tuple[str, ...]] = [MINIPOD]
    for folders, allowed in EXTRAS.items():
        paths = [str(path.relative_to(ROOT)) for pattern in folders.split() for path in ROOT.glob(pattern)]
        forbidden = [] if allowed is None else [extra for extra in extras if extra not in allowed]
        runs.append((*paths, *([f"--pep621-dev-dependency-groups={','.join(forbidden)}"] if forbidden else [])))
    for arguments in runs:
        run = _run("deptry", "--no-ansi", *arguments)
        issues = re.findall(r"^(\S+?:\d+):\d+: DEP\d+ (.+)$", run.stderr, re.M)
        for place, what in dict.fromkeys(issues):
            yield f"{place}: {what.replace('a dev dependency', 'part of an extra that this folder does not use')}"
        if run.returncode and not issues:
            yield f"deptry: {' '.join(run.stderr.split())}"


def _run(tool: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([BIN / tool, *arguments], cwd=ROOT, capture_output=True, text=True)


def pages() -> Iterator[str]:
    """Yield pages and files that are out of step; a gap that `only` declares is a note, not a finding."""
    result = sync.check()
    for sentence in result.unwritten:
        print(f"note: not yet in both languages: {sentence}")
    yield from result.problems
    yield from (f"{line}: run `make sync`" for _, sentences in result.stale.values() for line in sentences.split("\n"))


def chinese() -> Iterator[str]:
    """Yield sentences to rewrite."""
    yield from map(str, style.check())


if __name__ == "__main__":
    sys.exit(main())
