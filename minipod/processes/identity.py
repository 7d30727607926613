"""Whether a pid that was written down is still that of the same process: alone it says little.

Each pid namespace (a container) counts for itself, each boot begins anew, and a kernel uses numbers again.
"""

import contextlib
import os
import socket
import sys
from pathlib import Path

import psutil


def namespace() -> str:
    """Where this process's pids count: the boot and its pid namespace, or where there are none, the host.

    Empty where that is not known: without /proc, or with one that is of another namespace.
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
    """When it began, in the kernel's ticks since the boot; 0 where that is not known, and outside Linux."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[19])
    return 0


def exists(pid: int, began: int) -> bool:
    """Whether a process of this namespace that began then has not ended; True where that is not known."""
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
