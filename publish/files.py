"""Write files whole or not at all, and explain in a sentence why one cannot be written."""

import errno
import os
from pathlib import Path

from grader.files import replace
from publish.page import show

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
FORBIDDEN = (errno.EROFS, errno.EACCES, errno.EPERM)


def write(path: Path, text: str) -> None:
    """Write `text` to a file next to `path`, then rename it; create the folder. Raises OSError, which names `path`."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Write bytes as `write` does text."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace(path, data)
    except OSError as error:  # a full disk is reported without a name
        raise OSError(error.errno, error.strerror, str(path)) from None


def read(path: Path) -> str:
    """Return the text of a file; "" if it is missing or cannot be read."""
    try:
        return path.read_text("utf-8")
    except (OSError, ValueError):  # missing, not readable, or cut in the middle of a character
        return ""


def sentence(error: OSError, again: str) -> str:
    """Return a sentence: what could not be written, why, and what to do. again: the command to run afterwards."""
    path = Path(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes) else None
    where = show(path) if path else "a temporary file"  # errors of `write` and of the book's folders have a path
    if error.errno in FULL:
        cure = "free some space"
    elif error.errno in FORBIDDEN:
        cure = "make it writable for you, or build elsewhere (`python -m publish.build --build FOLDER`)"
    else:
        cure = "fix that" if path else "set TMPDIR to a folder that you can write to"
    act = "write" if error.errno in FULL or not path else "read or write"
    return f"cannot {act} {where}: {error.strerror or error}; {cure} and run `{again}` again"
