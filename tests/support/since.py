"""What a change can affect: `pytest tests --since main`, or `make test SINCE=main`. `make test` runs all.

A test is chosen when its file reaches a file that differs from that commit: by imports, and by the names of modules
and files in strings (publish/outputs/dependencies.py). From the tests of another floor only the first step counts: who
tests pages need not ask again how a bill is counted. Of the tests of pages and chapters only the cases of the changed
ones run. README, Makefile, workflows are for tests/start.
"""

import functools
from dataclasses import dataclass
from pathlib import Path

from publish import checked
from publish.outputs import dependencies
from publish.outputs.dependencies import changed_since

ROOT = Path(__file__).resolve().parents[2]
ROOMS = (*dependencies.ROOMS, "publish", "book", "tests", "examples")
STARTED = {  # what `python -m NAME` and `pytest lessons/` run
    "lessons": ("lessons/__main__.py", "grader/run/pytest_plugin.py"),
    "minipod": ("minipod/__main__.py",),
}
READ_PAGES, SHOW_PAGES, CHECK_CHAPTERS = "tests/publish/text/", "tests/publish/pages/", "tests/lessons/test_lessons.py"
REPRESENTATIVE = "ch04_jit"  # a change of the tools makes all chapters' checks others: one stands for them


@dataclass(frozen=True)
class Cases:
    """Which tests of a file run: those whose id names none of `others`, and one of `names` where there are any."""

    others: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()

    def hold(self, item_id: str) -> bool:
        case = item_id.partition("[")[2]
        return not any(one in case for one in self.others) and (not self.names or any(n in case for n in self.names))


def chosen(since: str) -> dict[str, Cases]:
    """The test files that run, and which of their tests. ValueError where git does not know the commit."""
    files = changed_since(since, ROOT)
    tests = [path for path in sorted((ROOT / "tests").rglob("test_*.py")) if "sample_lessons" not in path.parts]
    found = {path.relative_to(ROOT).as_posix(): cases(path, files) for path in tests}
    return {name: which for name, which in found.items() if which}


def cases(test: Path, files: set[str]) -> Cases | None:
    """Which tests of this file run when these files have changed; None where none does."""
    name = test.relative_to(ROOT).as_posix()
    floor = name.split("/")[1]
    if name == CHECK_CHAPTERS:
        own = {Path(file).stem for file in files if file.startswith(checked.ANSWERS)}
        own |= {file.split("/")[1] for file in files if file.startswith("lessons/") and file.count("/") > 1}
        own |= {REPRESENTATIVE} if any(file.startswith(dependencies.TOOLS) for file in files) else set()
        return Cases(_pages() - own) if own & _pages() or name in files else None
    if files & reached(test, near=True) or files & {n for n in reached(test, near=False) if n.startswith(f"{floor}/")}:
        return Cases()
    if any(file.startswith(f"lessons/{chapter}/") for file in files for chapter in chapters_of(test)):
        return Cases()
    pages = {Path(file).stem for file in files if file.startswith("book/") and file.endswith(".md")}
    if pages and name.startswith((READ_PAGES, SHOW_PAGES)):
        return Cases(_pages() - pages, frozenset() if name.startswith(READ_PAGES) else frozenset(pages))
    return Cases() if floor == "start" and any(file.partition("/")[0] not in ROOMS for file in files) else None


@functools.cache
def reached(test: Path, near: bool) -> frozenset[str]:
    """The files of the repository that a test file reaches, and itself. near: with it and its helpers, in one step."""
    found, todo = set[Path](), [test]
    while todo:
        if (path := todo.pop()) in found:
            continue
        found.add(path)
        own = path.is_relative_to(ROOT / "tests")
        if own or not near:
            todo += named_in(path)
        if own and "-m" in (said := dependencies.strings_in(path)):
            todo += [ROOT / program for name in STARTED.keys() & said for program in STARTED[name]]
    return frozenset(path.relative_to(ROOT).as_posix() for path in found)


@functools.cache  # every test reaches most of minipod
def named_in(path: Path) -> list[Path]:
    """The files that a program names: by imports, and in strings."""
    return dependencies.named_in(path, ROOT / "tests/support", ROOT, ROOMS)


@functools.cache
def chapters_of(test: Path) -> frozenset[str]:
    """The chapters that a test file or its helpers name."""
    own = [ROOT / name for name in reached(test, near=True) if name.startswith("tests/")]
    said = " ".join(text for path in own for text in dependencies.strings_in(path))
    return frozenset(path.name for path in (ROOT / "lessons").glob("ch*") if path.name in said)


@functools.cache
def _pages() -> frozenset[str]:
    return frozenset(path.stem for path in (ROOT / "book/en").glob("*.md"))
