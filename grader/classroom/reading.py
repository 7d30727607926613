"""Process submissions without running them: in a forked child with little memory and time, and without JAX.

A file or a reply may take forever to read, fill the memory or end Python; then only the child is lost.
"""

import math
import os
import resource
import select
import signal
import time
from collections.abc import Callable
from typing import Any, NoReturn

from minipod import processes
from minipod.forked.child import limit_memory
from minipod.processes import json_lines

LARGEST = 32 << 20  # bytes of what a child hands back


def apart(function: Callable[[], Any], seconds: float, memory: float) -> Any | None:
    """Return the result of `function` (JSON data other than None), or None if it did not finish.

    seconds  by the clock, and of processor time · memory: GiB beyond what this process has

    Raises OSError if no further process can be started.
    """
    ours, its = os.pipe()
    pid = 0
    try:
        with processes.interrupt_later():
            pid = processes.fork()
            if pid == 0:
                _serve(function, its, seconds, memory)
        os.close(its)
        its = -1
        return _parsed(_received(ours, time.monotonic() + seconds))
    finally:
        for end in (ours, its):
            if end >= 0:
                os.close(end)
        if pid:
            processes.end_child(pid)


def _serve(function: Callable[[], Any], its: int, seconds: float, memory: float) -> NoReturn:
    """Do everything that the child does; never return."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends it
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        os.closerange(3, its)
        os.closerange(its + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        used = math.ceil(seconds) + 1  # the kernel counts from the start of this process
        resource.setrlimit(resource.RLIMIT_CPU, (used, used))
        limit_memory(memory)
        json_lines.send(its, json_lines.encode(function()))
    except BaseException:
        pass  # what is missing is told by the parent
    finally:
        os._exit(0)


def _received(pipe: int, deadline: float) -> bytes:
    """Return what arrives before the pipe is closed; nothing if it comes too late or is too much."""
    data = bytearray()
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    while (left := deadline - time.monotonic()) > 0 and len(data) <= LARGEST:
        if not poll.poll(math.ceil(left * 1000)):
            return b""
        if not (more := os.read(pipe, 1 << 20)):
            return bytes(data)
        data += more
    return b""


def _parsed(line: bytes) -> Any | None:
    try:
        return json_lines.parse(line) if line.endswith(b"\n") else None
    except (ValueError, RecursionError):
        return None
