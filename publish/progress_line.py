"""Show progress: one line that rewrites itself on a terminal, or a line every two seconds elsewhere."""

import sys
import time
from typing import TextIO

_last = 0.0


def step(text: str) -> None:
    """Show a passing message, such as "ch03_sharding  executing cell 7 of 31"; without a terminal at most every 2 s."""
    global _last
    if sys.stdout.isatty():
        print(f"\r\033[K{text}", end="", flush=True)
    elif time.monotonic() - _last >= 2:
        _last = time.monotonic()
        _line(text, sys.stdout)


def done(text: str) -> None:
    """Print a message that stays."""
    global _last
    _last = time.monotonic()
    _line(("\r\033[K" if sys.stdout.isatty() else "") + text, sys.stdout)


def problem(text: str) -> None:
    """Print an error message on stderr, on its own line."""
    if sys.stdout.isatty():
        print("\r\033[K", end="", flush=True)
    _line(text, sys.stderr)


def _line(text: str, to: TextIO) -> None:
    to.write(f"{text}\n")  # in one piece: pages are executed in several threads
    to.flush()
