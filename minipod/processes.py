"""Small things every part that starts processes needs: a free port, and no process left behind.

Sources: `man 2 prctl` and `man 7 landlock` (Linux only; elsewhere they do nothing).
"""

import contextlib
import ctypes
import fcntl
import itertools
import os
import random
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from minipod.runtime_dir import open_own, runtime_dir

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 1, 36, 38
_LANDLOCK_CREATE_RULESET, _LANDLOCK_RESTRICT_SELF = 444, 446  # the same on every processor
_LANDLOCK_SCOPE_SIGNAL = 2
_PORTS = range(20000, 32000)
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def free_port() -> int:
    """A TCP port on 127.0.0.1 that nobody listens on, and that nobody is given before it is listened on.

    A port that the system chooses it may choose again for the next connection that anybody makes, so these lie below
    those it chooses from (32768 on Linux, 49152 on macOS), and each of this user's callers gets the next one: the
    count is kept in a locked file.
    """
    with open(open_own(runtime_dir() / "last-port"), "r+", encoding="ascii") as last:
        fcntl.flock(last, fcntl.LOCK_EX)
        kept = last.read()
        count = int(kept) if kept.isdecimal() else random.randrange(len(_PORTS))
        for number in range(count + 1, count + 1 + len(_PORTS)):
            port = _PORTS[number % len(_PORTS)]
            with contextlib.suppress(OSError):
                try_port(port)
                last.seek(0)
                last.truncate()
                last.write(str(number))
                return port
    raise OSError(f"no free port between {_PORTS.start} and {_PORTS.stop - 1}")


def try_port(port: int) -> None:
    """Raises OSError if nobody could listen on this port of 127.0.0.1 now."""
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(("127.0.0.1", port))


def wait_for_listener(address: str, seconds: float) -> bool:
    """Wait until somebody listens on `address` (`host:port`), at most `seconds`; whether somebody does.

    JAX's own first connection, if it comes too early, is tried again only after a whole second.
    """
    host, _, port = address.rpartition(":")
    end, pause = time.monotonic() + seconds, 0.003
    while time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=1):
            return True
        time.sleep(pause)
        pause = min(1.05 * pause, 0.05)  # who waits for long must not look busy
    return False


@contextlib.contextmanager
def slots(count: int, most: int, seconds: float = 10.0) -> Iterator[None]:
    """Take `count` of the `most` places that this user's processes have on the machine, whoever starts them.

    A place is a locked file, so it is free again when its holder ends, however it ends. Raises TimeoutError when there
    are not enough of them within `seconds`.
    """
    folder = runtime_dir()
    held: list[int] = []
    end = time.monotonic() + seconds
    try:
        while len(held) < count:
            free = (fd for n in range(most) if (fd := _lock(folder / f"place-{n}")) is not None)
            held.extend(itertools.islice(free, count - len(held)))
            if len(held) < count:
                if time.monotonic() > end:
                    taken = most - len(held)
                    raise TimeoutError(
                        f"{count} processes: {taken} of at most {most} run on this machine already; let them end first"
                    )
                for fd in held:  # two that wait for each other's places would never end
                    os.close(fd)
                held.clear()
                time.sleep(0.1)
        yield
    finally:
        for fd in held:
            os.close(fd)


def _lock(path: Path) -> int | None:
    """An open, locked file descriptor of `path`, or None if somebody holds it."""
    fd = open_own(path)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    return fd


def die_with_parent(parent: int) -> None:
    """In a new child: ask the kernel for SIGKILL when `parent` (its pid) ends, however it ends.

    Call it first thing in the child; if the parent is gone already, the child ends here.
    """
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


@contextlib.contextmanager
def interrupt_later() -> Iterator[None]:
    """Ctrl+C within the block counts at its end: Python swallows one that comes while it prepares a fork."""
    before = signal.getsignal(signal.SIGINT)
    if before is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    came = []
    signal.signal(signal.SIGINT, lambda *_: came.append(True))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)


def signal_only_own() -> None:
    """From now on this process and its descendants can signal only each other. Linux 6.12 or newer; else nothing."""
    if _LIBC is None:
        return
    attributes = (ctypes.c_uint64 * 3)(0, 0, _LANDLOCK_SCOPE_SIGNAL)  # nothing about files, nothing about the network
    ruleset = _LIBC.syscall(_LANDLOCK_CREATE_RULESET, attributes, ctypes.sizeof(attributes), 0)
    if ruleset >= 0:
        _LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        _LIBC.syscall(_LANDLOCK_RESTRICT_SELF, ruleset, 0)
        os.close(ruleset)


def adopt_orphans() -> None:
    """From now on orphaned descendants become children of this process, so `kill_children` finds them."""
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1)


def kill_group(pid: int) -> None:
    """SIGKILL to the process group that `pid` leads. A hung JAX process survives SIGTERM, so nothing milder helps."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def children(pid: int | None = None) -> list[int]:
    """The pids of the direct children of `pid` (default: this process), zombies included."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return [child.pid for child in psutil.Process(pid).children()]
    return []


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
