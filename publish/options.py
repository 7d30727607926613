"""Provide the options that commands of the book share: its editions, and the folder in which it is built."""

import argparse
from pathlib import Path

from publish.page import EDITIONS, ROOT


def add_build(parser: argparse.ArgumentParser, what: str) -> None:
    """Add `--build FOLDER`. what: what the folder holds."""
    help_text = f"folder {what} (default: _build)"
    parser.add_argument("--build", type=Path, default=ROOT / "_build", metavar="FOLDER", help=help_text)


def add_editions(parser: argparse.ArgumentParser, verb: str) -> None:
    """Add the positional `editions`: those to build, make, …"""
    help_text = f"edition to {verb}: {', '.join(EDITIONS)} (default: all)"
    parser.add_argument("editions", metavar="EDITION", nargs="*", help=help_text)


def chosen(editions: list[str]) -> list[str]:
    """Return these editions in the book's order, or all if there is none. Raises ValueError for an unknown one."""
    if wrong := [each for each in editions if each not in EDITIONS]:
        raise ValueError(f"no edition is called “{wrong[0]}”: choose from {', '.join(EDITIONS)}")
    return [each for each in EDITIONS if each in (editions or EDITIONS)]
