"""Start children that do not outlive this process, and end them with all that they started.

Each child leads its own session, so Ctrl+C reaches only this process, and one signal reaches the child's whole family.
When this process ends, the kernel ends a forked child (Linux); a program ends because the pipe on its standard input
closes.
"""

import contextlib
import os
import signal
import stat
import subprocess
import time
import warnings
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from minipod.processes.reaping import die_with_parent, kill_group


def fork(by: int = signal.SIGKILL) -> int:
    """Fork a child that leads a session; return 0 in the child and its pid here.

    by: the signal that the child gets when this process ends.
    """
    parent = os.getpid()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's BLAS has threads; the child does not use theirs
        pid = os.fork()
    if pid == 0:
        die_with_parent(parent, by)
        os.setsid()
    return pid


def close_inherited(*keep: int) -> None:
    """In a forked child, close the files that the parent has open, except for the standard streams and `keep`.

    This is for code that must not reach the parent's files, such as a learner's answer.
    """
    for descriptor in _inherited(keep):
        with contextlib.suppress(OSError):
            os.close(descriptor)


def keep_only_files(*keep: int) -> None:
    """In a forked child that goes on running the parent's code, release everything except files and `keep`.

    A pipe, a socket, a terminal or a lock is shared with the parent: a reader at the other end, or a process that waits
    for the lock, would wait for this child too. The descriptors stay in use and lead to /dev/null, so a plug-in that
    writes in both processes gets no error here and never writes into a file that has taken the same number. Ordinary
    files stay open: a log gets the lines of both processes, one after the other, since they share its position.
    """
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in _inherited((null, *keep)):
        with contextlib.suppress(OSError):
            mode = os.fstat(descriptor).st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) or _is_locked(descriptor):
                os.dup2(null, descriptor, inheritable=os.get_inheritable(descriptor))
    os.close(null)


def _inherited(keep: Collection[int]) -> list[int]:
    return [n for n in map(int, os.listdir("/dev/fd")) if n > 2 and n not in keep]


def _is_locked(descriptor: int) -> bool:
    """Return whether a lock (flock) is held through this descriptor. Only Linux tells."""
    with contextlib.suppress(OSError):
        return "\nlock:" in Path(f"/proc/self/fdinfo/{descriptor}").read_text("ascii")
    return False


def end_child(pid: int, patience: float = 0.0) -> int:
    """Wait `patience` seconds for a forked child, then end it; end its family, too; return its wait status."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            kill_group(pid)
            return status
        time.sleep(0.005)
    kill_group(pid)
    os.kill(pid, signal.SIGKILL)  # it may not lead its group yet
    return os.waitpid(pid, 0)[1]


class Program(subprocess.Popen[bytes]):
    """A program that ends when the pipe on its standard input closes."""

    def __init__(self, command: Sequence[str], **more: Any):
        super().__init__(command, stdin=subprocess.PIPE, start_new_session=True, **more)

    def let_go(self) -> None:
        """Close the pipe, as also happens when our own process ends."""
        assert self.stdin
        with contextlib.suppress(OSError):
            self.stdin.close()

    def end(self, patience: float = 0.0, *groups: int) -> int:
        """Close the pipe and return the exit code.

        If the program has not ended after `patience` seconds, kill its process group and `groups`.
        """
        self.let_go()
        if patience:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return self.wait(patience)
        for group in (*groups, self.pid):
            kill_group(group)
        return self.wait()
