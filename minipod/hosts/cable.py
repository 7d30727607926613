"""Delay frames in user space: `python -m minipod.hosts.cable SECONDS PID…`, which runs on the switch of a few hosts.

Not every kernel has netem, which would do this. Each host's eth0 is a TAP device whose other end is here: a frame from
one host is handed on after SECONDS to the host it is for, or to all others. The process ends when its
standard input does. Source: linux/if_tun.h.
"""

import collections
import contextlib
import fcntl
import os
import select
import struct
import subprocess
import sys
import time

_TUNSETIFF, _TAP, _NO_HEADER = 0x400454CA, 0x0002, 0x1000
FRAME = 2048  # bytes; more than an Ethernet frame has


def main() -> None:
    """Make the TAP devices, print `ready`, and carry frames until standard input ends."""
    delay, *pids = sys.argv[1:]
    ends = [_tap(i, int(pid)) for i, pid in enumerate(pids)]
    print("ready", flush=True)
    _carry(ends, float(delay))


def _tap(i: int, pid: int) -> int:
    """Open a TAP device that is eth0 of the host held by `pid`."""
    end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(end, _TUNSETIFF, struct.pack("16sH22x", f"port{i}".encode(), _TAP | _NO_HEADER))
    subprocess.run(["ip", "link", "set", f"port{i}", "txqueuelen", "20000"], check=True)
    subprocess.run(["ip", "link", "set", f"port{i}", "netns", str(pid), "name", "eth0"], check=True)
    return end


def _carry(ends: list[int], delay: float) -> None:
    """Hand frames on, in the order in which they came, since all wait equally long."""
    waiting: collections.deque[tuple[float, int, bytes]] = collections.deque()  # when, from where, what
    where: dict[bytes, int] = {}  # a host's address → its end
    while True:
        patience = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        for end in select.select([0, *ends], [], [], patience)[0]:
            if end == 0:
                return
            with contextlib.suppress(BlockingIOError):
                while True:
                    frame = os.read(end, FRAME)
                    where[frame[6:12]] = end
                    waiting.append((time.monotonic() + delay, end, frame))
        now = time.monotonic()
        while waiting and waiting[0][0] <= now:
            _, source, frame = waiting.popleft()
            for end in [where[frame[:6]]] if frame[:6] in where else ends:
                if end != source:
                    with contextlib.suppress(OSError):  # a host that is not up yet, a full queue: the frame is lost
                        os.write(end, frame)


if __name__ == "__main__":
    main()
