"""Whether anything changed during the run: a checksum of every submission and of the project's own sources."""

import hashlib
import os
from pathlib import Path

SOURCES = ("lessons", "solutions", "minipod", "grader", "publish", "tests", "book")
_LARGE = 1 << 26  # bytes from which a file's size and time stand for its content


def checksums(root: Path, submissions: Path, engine: Path) -> dict[str, str]:
    """Path -> sha256 of its content, below the submissions and the source folders of `root` and `engine`.

    Hidden folders and Python's caches are left out. A link's content is where it points to; what cannot be read has the
    error as its checksum.
    """
    folders = {submissions, *(base / name for base in (root, engine) for name in SOURCES)}
    sums = {}
    for folder in sorted(folders):
        for path, inside, files in os.walk(folder):
            inside[:] = [name for name in inside if name != "__pycache__" and not name.startswith(".")]
            links = [name for name in inside if os.path.islink(os.path.join(path, name))]
            for name in (*files, *links):
                sums[os.path.join(path, name)] = _checksum(Path(path, name))
    return sums


def changes(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """The paths that were changed, added or removed."""
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def _checksum(path: Path) -> str:
    try:
        if path.is_symlink():
            return f"-> {os.readlink(path)}"
        if not path.is_file():
            return "not a file"
        if (about := path.stat()).st_size > _LARGE:
            return f"{about.st_size} bytes, {about.st_mtime_ns}"
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        return str(error.strerror)
