"""How much memory each family of processes holds, looked at a few times a second.

What a process maps counts once, shared between those that share it (PSS); memory files count whether mapped or not, and
so do the own /tmp and /dev/shm of one in a sandbox, which lie in memory: what is written there, and for each file what
the kernel keeps of it. A limit of the kernel's on one process (RLIMIT_DATA) sees none of that. Source: `man 5 proc`,
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
    """`look` says the bytes that each family of processes holds, at most every so often."""

    def __init__(self) -> None:
        self._next = 0.0

    def look(self, families: list[int], enough: float = 0) -> dict[int, int]:
        """Bytes by family, which is called by its eldest's pid; {} when it is too early to look again.

        enough  up to that many it may say more than there are, which is quicker: `held`
        """
        if time.monotonic() < self._next or sys.platform != "linux":
            return {}
        sizes = {pid: held([pid, *descendants(pid)], enough) for pid in families}
        self._next = time.monotonic() + EVERY
        return sizes


def descendants(pid: int) -> list[int]:
    """The pids of all processes that descend from `pid`."""
    pids = [pid]
    for parent in pids:  # which grows meanwhile
        pids += children(parent)
    return pids[1:]


def held(pids: list[int], enough: float = 0) -> int:
    """Bytes that these processes hold together; a process that has ended, or is not ours to look at, holds none.

    For a process's share of what it shares the kernel walks all its pages, 5 ms with JAX. Where they hold no more than
    `enough` even if all of it counts for each, that is said.
    """
    files: dict[tuple[int, int], int] = {}
    for pid in pids:
        files |= _memory_files(pid) | _own_folders(pid)
    in_files = sum(files.values())
    most = _mapped(pids, "status") + in_files
    return most if most <= enough else _mapped(pids, "smaps_rollup") + in_files


def _mapped(pids: list[int], name: str) -> int:
    """The bytes of memory and of swap that a file of /proc tells of each process, added up."""
    kilobytes = 0
    for pid in pids:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/{name}", "rb") as file:
            kilobytes += sum(int(number) for _, number in _KILOBYTES.findall(file.read()))
    return kilobytes * 1024


def _own_folders(pid: int) -> dict[tuple[int, int], int]:
    """The bytes of what lies in a sandbox's own folders; a process outside of one has the folders that we have."""
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
    """The bytes of each open file that has no name any more and lies in memory, or did from the beginning."""
    sizes = {}
    with contextlib.suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            path = f"/proc/{pid}/fd/{name}"
            with contextlib.suppress(OSError):
                if os.readlink(path).startswith("/memfd:"):
                    about = os.stat(path)
                    sizes[about.st_dev, about.st_ino] = about.st_blocks * 512
    return sizes
