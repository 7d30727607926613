"""Leave no process behind: children die with their parent, orphans are adopted, and whole families are ended.

Sources: `man 2 prctl` and `man 7 landlock` (only on Linux; elsewhere, functions that use them do nothing).
"""

import contextlib
import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 1, 36, 38
_LANDLOCK_CREATE_RULESET, _LANDLOCK_RESTRICT_SELF = 444, 446  # the same on every processor
_LANDLOCK_SCOPE_SIGNAL = 2
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def die_with_parent(parent: int, by: int = signal.SIGKILL) -> None:
    """In a new child, ask the kernel for the signal `by` when the process `parent` ends, however it ends.

    Call this first in the child; if the parent is gone already, the child ends here.
    """
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, by)
        if os.getppid() != parent:
            os._exit(1)


@contextlib.contextmanager
def interrupt_later() -> Iterator[None]:
    """Delay Ctrl+C, and SIGTERM if this program handles it, until the block ends; in the main thread only.

    This is needed because Python discards an exception that a signal handler raises while a fork is being prepared.
    """
    handled = {n: handler for n in (signal.SIGINT, signal.SIGTERM) if callable(handler := signal.getsignal(n))}
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    for number in handled:
        signal.signal(number, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for number, handler in handled.items():
            signal.signal(number, handler)
        for number in dict.fromkeys(came):
            signal.raise_signal(number)


def signal_only_own() -> None:
    """Let this process and its descendants signal only each other from now on. Needs Linux 6.12, else does nothing."""
    if _LIBC is None:
        return
    attributes = (ctypes.c_uint64 * 3)(0, 0, _LANDLOCK_SCOPE_SIGNAL)  # nothing about files, nothing about the network
    ruleset = _LIBC.syscall(_LANDLOCK_CREATE_RULESET, attributes, ctypes.sizeof(attributes), 0)
    if ruleset >= 0:
        _LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        _LIBC.syscall(_LANDLOCK_RESTRICT_SELF, ruleset, 0)
        os.close(ruleset)


def adopt_orphans() -> None:
    """Make orphaned descendants children of this process from now on, so that `kill_children` finds them."""
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1)


def kill_group(pid: int) -> None:
    """Send SIGKILL to the process group that `pid` leads, since a hung JAX process survives SIGTERM."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def children(pid: int | None = None) -> list[int]:
    """Return the pids of the direct children of `pid` (default: this process), zombies included."""
    with contextlib.suppress(OSError):  # the kernel has a list: psutil would look at every process there is
        tasks = Path(f"/proc/{pid or os.getpid()}/task")
        return [int(child) for task in tasks.iterdir() for child in (task / "children").read_text().split()]
    with contextlib.suppress(psutil.NoSuchProcess):
        return [child.pid for child in psutil.Process(pid).children()]
    return []


def kill_children(spare: frozenset[int] = frozenset(), seconds: float = 2.0) -> None:
    """Kill every child of this process except those in `spare`, then the orphans that this process inherits.

    seconds: when to give up. A zombie for which another thread is waiting remains a child.
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
