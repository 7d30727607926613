"""Write files whole or not at all, one process at a time."""

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

PATIENCE = 10.0  # seconds for another process to finish a change, which takes milliseconds


def write_whole(path: Path, data: bytes) -> None:
    """Create or replace a file, whole or not at all; its permissions are kept, and a link at this path is followed.

    Raises OSError, also for a file that is merely marked read-only, because its owner does not want it to change.
    """
    path = Path(os.path.realpath(path))
    mode = path.stat().st_mode & 0o777 if path.exists() else None
    if mode is not None:
        if not mode & 0o222:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        os.close(os.open(path, os.O_WRONLY))  # raises what writing into it would
    replace(path, data, mode)


def write_private(path: Path, data: bytes) -> None:
    """Create or replace a cache file, whole or not at all, and its folder, for this user only. Raises OSError.

    A link at this path is replaced: it may lead anywhere.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace(path, data, 0o600)


def replace(path: Path, data: bytes, mode: int | None = None) -> None:
    """Write a file next to `path`, then move it there; leave nothing on an error. mode: by default, from the umask."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")  # another process may be doing the same
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    try:
        with open(os.open(fresh, flags, 0o666 if mode is None else 0o600), "wb") as file:
            file.write(data)
        if mode is not None:
            fresh.chmod(mode)
        os.replace(fresh, path)
    except BaseException:
        with contextlib.suppress(OSError):
            fresh.unlink()
        raise


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Hold a lock on a folder during the block. Raises OSError if getting it takes too long.

    On a file system without locks, the block runs without one.
    """
    place, end = os.open(folder, os.O_RDONLY), time.monotonic() + PATIENCE
    try:
        while True:
            try:
                fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise TimeoutError(errno.ETIMEDOUT, "another process has held the lock for too long") from None
                time.sleep(0.01)
            except OSError:
                break
        yield
    finally:
        with contextlib.suppress(OSError):
            fcntl.flock(place, fcntl.LOCK_UN)  # a child that was forked meanwhile holds it, too
        os.close(place)
