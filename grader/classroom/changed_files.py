"""Detect changes during the run: in the submissions, in the project, and in everything that Python would import.

A file's size, place and times represent its content. A process that can write to a file can set its modification time,
but not the time of the last change (ctime), unless it can set the clock. If a file has several names, as some
installers make them, the content itself is compared, because each new name changes the ctime.
"""

import hashlib
import os
import stat
import sys
from pathlib import Path

_LEFT_OUT = {"_build", ".git", ".pytest_cache", ".ruff_cache"}  # nothing is imported from there
_LARGE = 4 << 20  # bytes from which the content of a file with several names is not read
Print = tuple[int | str, ...] | str


def fingerprints(root: Path, submissions: Path, engine: Path, walls: bool) -> dict[str, Print]:
    """Map each path below the submissions, `root` and `engine` to a value that changes when the file is written to.

    walls  whether submissions run in sandboxes, out of which nothing can be written: then only sources are examined;
           otherwise also what Python reads unasked (bytecode, hidden folders), and Python's own environment

    Links are not followed. The folder to which this run itself writes, .cache/class, is left out.
    """
    skipped = {str(base / ".cache" / "class") for base in (root, engine)}
    prints: dict[str, Print] = {}
    for folder in _apart([submissions, root, engine, *([] if walls else [Path(sys.prefix)])]):
        for path, inside, files in os.walk(folder):
            inside[:] = [n for n in inside if n not in _LEFT_OUT and os.path.join(path, n) not in skipped]
            if walls:
                inside[:] = [name for name in inside if name != "__pycache__" and not name.startswith(".")]
            links = [name for name in inside if os.path.islink(os.path.join(path, name))]
            for name in (*files, *links):
                prints[os.path.join(path, name)] = _print(os.path.join(path, name))
    return prints


def changes(before: dict[str, Print], after: dict[str, Print]) -> list[str]:
    """Return the paths that were changed, added or removed."""
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def _apart(folders: list[Path]) -> list[Path]:
    """Drop folders inside others, and the home folder and the file system's root, which are too large to examine."""
    large = {Path("/"), Path.home()}
    kept = [folder for folder in dict.fromkeys(folders) if folder not in large]
    return [f for f in kept if not any(f != other and f.is_relative_to(other) for other in kept)]


def _print(path: str) -> Print:
    try:
        about = os.lstat(path)
        place = about.st_ino, about.st_mode, about.st_size, about.st_mtime_ns
        if about.st_nlink == 1 or not stat.S_ISREG(about.st_mode):
            return *place, about.st_ctime_ns
        if about.st_size > _LARGE:
            return place
        with open(path, "rb") as file:  # of a file with several names the ctime changes with each name
            return *place, hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        return str(error.strerror)
