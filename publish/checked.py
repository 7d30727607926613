"""python -m publish.checked [CHAPTER…]: check each chapter that has changed since it last passed its check.

tests/data/checked.json has a hash for each chapter that passed: of its files, of all files that they and the check use
in solutions/, grader/ and minipod/, and of the versions of the compiling packages. `make test` checks only chapters
whose hash has changed; the weekly run checks all of them.
"""

import argparse
import functools
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path

from grader.exercise.chapters import given_out
from publish import files
from publish.outputs import dependencies
from publish.page import ROOT

HELD = ROOT / "tests/data/checked.json"
WRITTEN = ("exercises.py", "test_exercises.py", "mistakes.py", "words.toml", "chapter.toml")
CHECK = ("publish/author/check_command.py", "publish/author/chapter_files.py", "grader/messages.toml")
ANSWERS = ("solutions", "tests/data/other_answers")
COMPILERS = ("jax", "jaxlib", "numpy", "optax")


def chapters(root: Path = ROOT) -> list[str]:
    """Return all chapters that have exercises."""
    return [path.parent.name for path in given_out(root / "lessons", "exercises.py")]


def command(chapter: str) -> list[str]:
    """Return the command that checks a chapter: its right answers, and whether its known mistakes are recognised."""
    return [sys.executable, "-m", "lessons", "check", chapter, "--shorter"]


def sum_of(chapter: str, root: Path = ROOT) -> str:
    """Hash everything that the check of a chapter depends on."""
    lesson = root / "lessons" / chapter
    first = [lesson / name for name in WRITTEN] + [root / name for name in CHECK]
    first += [path for folder in ANSWERS if (path := root / folder / f"{chapter}.py").exists()]
    reached = dependencies.reached_from(first, lesson, root, dependencies.ROOMS)
    versions = [f"{name} {metadata.version(name)}" for name in COMPILERS]
    parts = [*versions, *(f"{path.relative_to(root)} {_sum(path, path.stat().st_mtime_ns)}" for path in reached)]
    return dependencies.sum_of("\n".join(parts).encode())


@functools.cache
def _sum(path: Path, _changed: int) -> str:
    return dependencies.sum_of(path.read_bytes())


def held() -> dict[str, str]:
    """Return the hash with which each chapter last passed its check."""
    sums: dict[str, str] = json.loads(files.read(HELD) or "{}")
    return sums


def main(arguments: list[str] | None = None) -> int:
    """Check chapters, two at a time; record those that pass. Returns 1 if one does not."""
    parser = argparse.ArgumentParser(prog="python -m publish.checked", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "chapters",
        nargs="*",
        metavar="CHAPTER",
        help="chapter to check, such as ch03_sharding (default: those that changed)",
    )
    chosen = parser.parse_args(arguments).chapters
    if unknown := sorted({*chosen} - {*chapters()}):
        parser.error(f"there is no chapter {unknown[0]}")
    sums = {chapter: sum_of(chapter) for chapter in chapters()}
    todo = chosen or [chapter for chapter, now in sums.items() if held().get(chapter) != now]
    with ThreadPoolExecutor(2) as pool:
        check = functools.partial(subprocess.run, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        runs = pool.map(lambda chapter: check(command(chapter)), todo)
        for chapter, run in zip(todo, runs, strict=True):
            print(run.stdout, end="", flush=True)
            if run.returncode:
                continue
            files.write(HELD, json.dumps({**held(), chapter: sums[chapter]}, indent=1, sort_keys=True) + "\n")
    return int(any(held().get(chapter) != sums[chapter] for chapter in todo))


if __name__ == "__main__":
    sys.exit(main())
