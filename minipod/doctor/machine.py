"""Check the machine itself: cores, memory, limits, clock and name."""

import contextlib
import ctypes
import os
import resource
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from minipod.doctor.findings import Finding
from minipod.processes.cgroups import group_of_this_process

_TIME_ERROR = 5  # adjtimex: nobody keeps this clock right (man 2 adjtimex)
_OPEN_FILES = 64  # JAX and a launcher of sixteen processes open about that many


def cores() -> Finding:
    """Report the cores that this process may use."""
    return Finding("Cores", str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()))


def memory(root: Path = Path("/")) -> Finding:
    """Report the GiB of memory that this process may use: the machine's, or the limit of a container or job."""
    size = psutil.virtual_memory().total
    value = f"{size / 2**30:.1f} GiB"
    allowed = min(_limits(root), default=size)
    advice = "less than 2 GiB may not be enough for two JAX processes"
    if allowed < size:
        size, value = allowed, f"{allowed / 2**30:.1f} GiB of {value}: the limit of this container, job or shell"
        advice += ": raise this limit"
    return Finding("Memory", value, advice * (size < 2 * 2**30), needed=False)


def _limits(root: Path) -> Iterator[int]:
    """Return the limits, in bytes, of this process's cgroup (v1 or v2), its parents, and its address space."""
    first = group_of_this_process(root, "cgroup", "memory", "memory")
    for group, name in (group_of_this_process(root, "cgroup2"), "memory.max"), (first, "memory.limit_in_bytes"):
        for folder in group.path() if group else ():
            with contextlib.suppress(OSError, ValueError):  # a group that this container does not see; "max"
                yield int((folder / name).read_text())
    if (address_space := resource.getrlimit(resource.RLIMIT_AS)[0]) != resource.RLIM_INFINITY:
        yield address_space


def open_files() -> Finding:
    """Report how many files a process may open; with too few, JAX fails halfway."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    value = "unlimited" if most == resource.RLIM_INFINITY else str(most)
    few = 0 <= most < _OPEN_FILES
    return Finding("Open files", value, f"too few for JAX and its processes: {more_open_files()}" if few else "")


def more_open_files() -> str:
    """Return how to raise the number of files that a process may open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    more = max(1024, 4 * soft)
    allowed = more if hard == resource.RLIM_INFINITY else min(more, hard)
    if allowed > soft:
        return f"`ulimit -n {allowed}` allows more"
    return f"only root can allow more than {hard} (`ulimit -n {more}`)"


def clock(newest: Path = Path(__file__)) -> Finding:
    """Check whether the clock is synchronized and not behind the file `newest`; one machine cannot check more."""
    now, written = time.time(), newest.stat().st_mtime
    value = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now))
    if now < written - 60:
        written_on = time.strftime("%Y-%m-%d", time.gmtime(written))
        advice = (
            f"the clock is behind a file written on {written_on}: set it, for example with `timedatectl set-ntp true`"
        )
        return Finding("Clock", value, advice)
    return Finding("Clock", f"{value}, {'synchronized' if _kept_right() else 'perhaps not synchronized'}")


def _kept_right() -> bool:
    """Return whether the kernel says that its clock is synchronized. Linux only."""
    if sys.platform != "linux":
        return False
    empty = ctypes.create_string_buffer(512)  # struct timex, modes = 0: ask only
    return ctypes.CDLL(None).adjtimex(empty) not in (-1, _TIME_ERROR)


def host_name(in_cluster: bool = False) -> Finding:
    """Report this machine's name and the address at which other hosts of a cluster would reach it."""
    name = socket.gethostname()
    try:
        address = str(socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)[0][4][0])
    except OSError:
        return Finding("Host name", f"{name}, which has no address: a cluster of several hosts needs one")
    loops = address.startswith("127.") or address == "::1"
    value = f"{name}, {address}" + ", reachable only from this machine" * loops
    return Finding("Host name", value, ALONE * (loops and in_cluster), needed=False)


ALONE = "for a cluster of several hosts, give this name its network address in /etc/hosts"
