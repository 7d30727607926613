"""Provide the command line of `python -m lessons learn`."""

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from grader.exercise import blanks
from grader.learn.overview import Course
from grader.messages import LANGUAGES, languages, locale_language, positive, say

ROOT = Path(__file__).resolve().parents[2]


class _Parser(argparse.ArgumentParser):
    """A parser that prints what is wrong, in one sentence, and exits with 2."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, say("learn-option", locale_language(), error=message) + "\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the learner's session and return the exit status."""
    parser = _Parser(
        prog="python -m lessons learn", description="Solve the exercises: each time you save, your answer is checked."
    )
    parser.add_argument(
        "place", metavar="CHAPTER[/NAME]", nargs="?", help="where to begin, such as ch03 (default: where you stopped)"
    )
    parser.add_argument("--lang", metavar="LANG", help=f"language: one of {languages()} (default: from the locale)")
    parser.add_argument(
        "--plain", action="store_true", help="print line by line: for screen readers and simple terminals"
    )
    parser.add_argument("--limit", metavar="SECONDS", default="20", help="seconds that an answer may run (default: 20)")
    parser.add_argument(
        "--memory", metavar="GiB", default="2", help="GiB of memory that an answer may use (default: 2)"
    )
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)  # for tests
    options = parser.parse_args(arguments)
    try:
        lang = _language(options.lang)
        limit, memory = (positive(f"--{name}", getattr(options, name), lang) for name in ("limit", "memory"))
        course = Course(options.root.resolve(), lang)
        if options.place is not None:
            course.begin_at(options.place)
        try:
            course.answers.mkdir(exist_ok=True)
        except OSError as error:
            raise ValueError(blanks.not_copied(error, lang)) from None
    except (OSError, SyntaxError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    screenless = (
        not all(s.isatty() for s in (sys.stdin, sys.stdout, sys.stderr)) or os.environ.get("TERM", "dumb") == "dumb"
    )
    if not (options.plain or screenless):
        from grader.learn.screen import Learn

        screen = Learn(course, limit, memory)
        screen.run()
        return screen.return_code or 0
    from grader.learn.line_mode import Plain

    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        asyncio.run(Plain(course, limit, memory).run())
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `… | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    return 0


def _language(value: str | None) -> str:
    if value is not None and value not in LANGUAGES:
        raise ValueError(say("bad-language", locale_language(), value=value, languages=", ".join(LANGUAGES)))
    return value or locale_language()
