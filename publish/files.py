"""Files written whole or not at all, and what to say when one cannot be written."""

import errno
import os
from pathlib import Path

from grader.files import replace
from publish.page import show

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
FORBIDDEN = (errno.EROFS, errno.EACCES, errno.EPERM)


def write(path: Path, text: str) -> None:
    """Write `text` beside `path`, then put it in its place; the folder is made. OSError, which names `path`."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """The same with what is no text."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace(path, data)
    except OSError as error:  # a full disk is reported without a name
        raise OSError(error.errno, error.strerror, str(path)) from None


def read(path: Path) -> str:
    """The text of a file, "" where there is none or none that can be read."""
    try:
        return path.read_text("utf-8")
    except (OSError, ValueError):  # not there, not ours to read, cut in the middle of a letter
        return ""


def sentence(error: OSError, again: str) -> str:
    """What could not be written, why, and what helps. `again`: the command to run when that is done."""
    path = Path(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes) else None
    where = show(path) if path else "a temporary file"  # `write` and the folders of the book give their names
    if error.errno in FULL:
        cure = "free some space"
    elif error.errno in FORBIDDEN:
        cure = "make it writable for you, or build elsewhere (`python -m publish.build --build FOLDER`)"
    else:
        cure = "mend that" if path else "set TMPDIR to a folder that you can write to"
    act = "write" if error.errno in FULL or not path else "read or write"
    return f"cannot {act} {where}: {error.strerror or error}; {cure} and run `{again}` again"
