"""The folder in which one user's processes keep what they must agree on: ports, places, locks.

It may lie in a folder that everybody can write to, so nothing there is trusted before its owner and mode are checked,
and no link is followed. Source: the XDG base directory specification, on XDG_RUNTIME_DIR.
"""

import os
import stat
import tempfile
from pathlib import Path


def runtime_dir() -> Path:
    """The folder, made if need be; only this user can read or write it.

    $XDG_RUNTIME_DIR/minipod, or minipod-UID in the temporary folder. Raises PermissionError where neither is this
    user's own.
    """
    places = [Path(tempfile.gettempdir(), f"minipod-{os.getuid()}")]
    if given := os.environ.get("XDG_RUNTIME_DIR"):
        places.insert(0, Path(given, "minipod"))
    for folder in places:
        if _is_ours(folder):
            return folder
    raise PermissionError(f"{places[-1]} is not yours alone: remove it, or set TMPDIR to a folder of your own")


def open_own(path: Path) -> int:
    """A file descriptor of `path`, a file in `runtime_dir()`, to read and write; made if need be."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _is_ours(folder: Path) -> bool:
    """Whether this is, or could be made, a real folder of this user's that nobody else can write to."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        status = os.lstat(folder)
    except OSError:  # its parent is missing or not ours to write; or a file or a dangling link is there
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077
