"""Provide the folder for what the processes of one user share: ports, slots and locks.

The folder may be in a world-writable one, so nothing there is trusted before its owner and mode are checked, and no
link is followed. Source: the XDG base directory specification, on XDG_RUNTIME_DIR.
"""

import os
import stat
import tempfile
from pathlib import Path


def runtime_dir() -> Path:
    """Return the folder, created if necessary; only this user can read or write it.

    This is $XDG_RUNTIME_DIR/minipod, or minipod-UID in the temporary folder. Raises PermissionError if neither is this
    user's own.
    """
    places = [Path(tempfile.gettempdir(), f"minipod-{os.getuid()}")]
    if given := os.environ.get("XDG_RUNTIME_DIR"):
        places.insert(0, Path(given, "minipod"))
    faults = []
    for folder in places:
        if not (fault := _fault(folder)):
            return folder
        faults.append(f"{folder} {fault}")
    raise PermissionError(f"{faults[-1]} TMPDIR to a folder of your own")


def open_own(path: Path) -> int:
    """Open `path`, a file in `runtime_dir()`, for reading and writing; create the file if necessary."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _fault(folder: Path) -> str:
    """Return "" if this is, or could be created as, a real folder that only this user can write to, else why not."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        status = os.lstat(folder)
    except FileExistsError:
        return "is not a folder: remove it, or set"
    except OSError as error:
        return f"cannot be created ({error.strerror}): set"
    ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077
    return "" if ours else "is not your private folder: remove it, or set"
