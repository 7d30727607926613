"""Tell whether a recorded pid still means the same process.

A pid alone does not tell: each pid namespace (a container) and each boot counts anew, and the kernel reuses pids.
"""

import contextlib
import os
import socket
import sys
from pathlib import Path

import psutil


def namespace() -> str:
    """Return where this process's pids are valid: the boot and the pid namespace, or, outside Linux, the host.

    The result is "" if it is unknown: without /proc, or if /proc belongs to a different namespace.
    """
    if sys.platform != "linux":
        return socket.gethostname()
    try:
        if os.readlink("/proc/self") != str(os.getpid()):
            return ""
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def started(pid: int) -> int:
    """Return when a process began, in the kernel's ticks since the boot; 0 if unknown or outside Linux."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[19])
    return 0


def exists(pid: int, began: int) -> bool:
    """Return whether the process `pid` of this namespace that began at `began` is still alive; True if unknown."""
    with contextlib.suppress(PermissionError):  # of another user: it is there
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
    if began and (now := started(pid)) and now != began:
        return False  # its number is used again
    with contextlib.suppress(psutil.Error):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return True
