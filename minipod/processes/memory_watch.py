"""Measure, a few times a second, how much memory each family of processes uses.

Mapped memory counts once, divided among the processes that share it (PSS). Memory files count whether mapped or not,
and so do the /tmp and /dev/shm of a process in a sandbox, which are in memory: what is written there, and what the
kernel keeps for each file. The kernel's limit on one process (RLIMIT_DATA) sees none of this. Source: `man 5 proc`,
smaps_rollup and status.
"""

import contextlib
import os
import re
import sys
import time

from minipod.processes.reaping import children

EVERY = 0.25  # seconds
OWN_FOLDERS = ("tmp", "dev/shm")
FILE = 1024  # bytes of the kernel's for a file that is empty: 850 were seen, on Linux 6.18
_KILOBYTES = re.compile(rb"^(Pss|SwapPss|VmRSS|VmSwap):\s+(\d+) kB", re.M)


class Watch:
    """A watch on families of processes: `look` returns the bytes that each uses, once every `EVERY` seconds."""

    def __init__(self) -> None:
        self._next = 0.0

    def look(self, families: list[int], enough: float = 0) -> dict[int, int]:
        """Return the bytes of each family, by the pid of its first process; {} if it is too early or not on Linux.

        enough  bytes up to which an upper bound will do, which is faster: see `held`
        """
        if time.monotonic() < self._next or sys.platform != "linux":
            return {}
        sizes = {pid: held([pid, *descendants(pid)], enough) for pid in families}
        self._next = time.monotonic() + EVERY
        return sizes


def descendants(pid: int) -> list[int]:
    """Return the pids of all processes that descend from `pid`."""
    pids = [pid]
    for parent in pids:  # which grows meanwhile
        pids += children(parent)
    return pids[1:]


def held(pids: list[int], enough: float = 0) -> int:
    """Return the bytes that these processes use together; one that has ended or cannot be read counts 0.

    To find a process's share of shared memory the kernel walks all its pages, which takes 5 ms with JAX. If they use at
    most `enough` even with shared memory counted for each, that upper bound is returned.
    """
    files: dict[tuple[int, int], int] = {}
    for pid in pids:
        files |= _memory_files(pid) | _own_folders(pid)
    in_files = sum(files.values())
    most = _mapped(pids, "status") + in_files
    return most if most <= enough else _mapped(pids, "smaps_rollup") + in_files


def _mapped(pids: list[int], name: str) -> int:
    """Add up the bytes of memory and swap that a file of /proc gives for each process."""
    kilobytes = 0
    for pid in pids:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/{name}", "rb") as file:
            kilobytes += sum(int(number) for _, number in _KILOBYTES.findall(file.read()))
    return kilobytes * 1024


def _own_folders(pid: int) -> dict[tuple[int, int], int]:
    """Return the bytes in a sandbox's own folders; a process outside a sandbox has the same folders as we do."""
    sizes = {}
    for name in OWN_FOLDERS:
        path = f"/proc/{pid}/root/{name}"
        with contextlib.suppress(OSError):
            device = os.stat(path).st_dev
            if device != os.stat(f"/{name}").st_dev:
                about = os.statvfs(path)
                used = (about.f_blocks - about.f_bfree) * about.f_frsize
                sizes[device, 0] = used + (about.f_files - about.f_ffree) * FILE
    return sizes


def _memory_files(pid: int) -> dict[tuple[int, int], int]:
    """Return the bytes of each open file that lies in memory and has no name, or no longer has one."""
    sizes = {}
    with contextlib.suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            path = f"/proc/{pid}/fd/{name}"
            with contextlib.suppress(OSError):
                if os.readlink(path).startswith("/memfd:"):
                    about = os.stat(path)
                    sizes[about.st_dev, about.st_ino] = about.st_blocks * 512
    return sizes
