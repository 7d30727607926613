"""Is anything left? What runs, and what listens, asked of the kernel."""

import contextlib
import os
import time
from pathlib import Path


def left_running(marker):
    """Processes that inherited the marker in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if marker.encode() in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            pass
    return found


def running_with(word):
    """The command lines of processes that have the word in them, a minute from now if need be."""
    end = time.monotonic() + 60
    while True:
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                found.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        found = [line for line in found if word in line]
        if not found or time.monotonic() > end:
            return found
        time.sleep(0.1)


def listening(pid: int) -> set[str]:
    """The addresses on which a process listens for TCP: what `ss -ltnp` says, without needing it."""
    sockets = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            sockets.add(os.readlink(link))
        except OSError:
            pass
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                found.add(_address(fields[1].partition(":")[0]))
    return found


def _address(number: str) -> str:
    """`0100007F` as 127.0.0.1; of an IPv6 address that is an IPv4 one, that; of others the digits."""
    last = number[-8:]
    if len(number) == 8 or number[:24] == "0" * 16 + "FFFF0000":
        return ".".join(str(int(last[i : i + 2], 16)) for i in (6, 4, 2, 0))
    return number
