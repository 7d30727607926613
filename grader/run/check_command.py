"""Run `python -m lessons check [CHAPTER …] [OPTIONS]`: the same as `pytest lessons/`, but from any folder."""

import argparse
import os
import sys
from collections.abc import Sequence

import pytest

from grader.exercise import chapters
from grader.home import HERE, home, is_installed
from grader.messages import locale_language, say

DESCRIPTION = (
    "Check your answers to the exercises of the given chapters, or of all chapters. You can add pytest's options and "
    "the book's own, such as --hint. In a checkout (a clone made with git), `pytest lessons/ --help` lists them, and "
    "`check ch03` without options tests the chapter itself instead: its solution and its known mistakes, not your "
    "answers (see `check ch03 --help`). To check your answers to chapter 3 there, run `pytest lessons/ch03_sharding`."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run pytest on the named chapters, `ch03` or `ch03_sharding`; return its exit code; 2: unknown chapter."""
    parser = argparse.ArgumentParser(prog="python -m lessons check", description=DESCRIPTION)
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help="chapter to check, such as ch03 (default: all)")
    options, others = parser.parse_known_args(arguments)
    places = [str(HERE / "lessons")] * (not options.chapters)
    for chapter in options.chapters:
        named = chapters.named(HERE / "lessons", chapter)
        if not named:
            known = ", ".join(chapters.lessons_in(HERE / "lessons"))
            print(say("check-chapter", locale_language(), chapter=chapter, known=known), file=sys.stderr)
            return 2
        places += [str(HERE / "lessons" / lesson) for lesson in named]
    alone = ["-c", os.devnull] if is_installed(HERE) else []  # not by the settings of a project that installed us
    return int(pytest.main([f"--rootdir={home(HERE)}", "-p", "no:anyio", *alone, *places, *others]))  # pyproject.toml
