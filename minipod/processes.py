"""Small things every part that starts processes needs: a free port, and no process left behind.

Source for the two prctl codes: `man 2 prctl` (Linux only; elsewhere they do nothing).
"""

import contextlib
import ctypes
import os
import signal
import socket
import sys
import time
from pathlib import Path

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def free_port() -> int:
    """A TCP port on 127.0.0.1 that nobody listens on at this moment."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for_listener(address: str, seconds: float) -> bool:
    """Wait until somebody listens on `address` (`host:port`), at most `seconds`; whether somebody does.

    JAX's own first connection, if it comes too early, is tried again only after a whole second.
    """
    host, _, port = address.rpartition(":")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=1):
            return True
        time.sleep(0.003)
    return False


def die_with_parent(parent: int) -> None:
    """In a new child: ask the kernel for SIGKILL when `parent` (its pid) ends, however it ends.

    Call it first thing in the child; if the parent is gone already, the child ends here.
    """
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def adopt_orphans() -> None:
    """From now on orphaned descendants become children of this process, so `kill_children` finds them."""
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1)


def kill_group(pid: int) -> None:
    """SIGKILL to the process group that `pid` leads. A hung JAX process survives SIGTERM, so nothing milder helps."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def children(pid: int | None = None) -> list[int]:
    """The pids of the direct children of `pid` (default: this process), zombies included. Linux; elsewhere empty."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError):
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            if parent == (pid or os.getpid()):
                found.append(int(stat.parent.name))
    return found


def kill_children(spare: frozenset[int] = frozenset(), seconds: float = 2.0) -> None:
    """End every child of this process but those in `spare`, then the orphans that this hands to us, until none is left.

    seconds: when to give up; a zombie that somebody else waits for stays a child.
    """
    end = time.monotonic() + seconds
    while (left := [p for p in children() if p not in spare]) and time.monotonic() < end:
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        for pid in left:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.005)
