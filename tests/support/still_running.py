"""Is anything left? What runs, and what listens, asked of the kernel."""

import contextlib
import time
from collections.abc import Callable

import psutil

DEADLINE = 300.0  # seconds: what takes longer hangs, however busy the machine is


def until(reached: Callable[[], object], seconds: float = DEADLINE) -> bool:
    """Wait for a state; whether it came."""
    end = time.monotonic() + seconds
    while not reached():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def left_running(marker: str, seconds: float = 0.0) -> list[int]:
    """The processes that inherited the marker in their environment; none, if all end within `seconds`."""
    return _left(lambda process: any(marker in value for value in process.environ().values()), seconds)


def running_with(*words: str, seconds: float = DEADLINE) -> list[int]:
    """The processes that have all the words, each an argument or a part of one, in their command line; none, if all
    end within `seconds`."""
    return _left(lambda process: all(any(word in part for part in process.cmdline()) for word in words), seconds)


def listening(pid: int) -> set[str]:
    """The addresses on which a process listens for TCP; of an IPv6 address that is an IPv4 one, that."""
    found = psutil.net_connections("tcp")
    return {c.laddr.ip.removeprefix("::ffff:") for c in found if c.pid == pid and c.status == psutil.CONN_LISTEN}


def _left(fits: Callable[[psutil.Process], bool], seconds: float) -> list[int]:
    found: list[int] = []

    def none() -> bool:
        found.clear()
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):  # it has ended meanwhile, or is another user's
                found.extend([process.pid] if fits(process) else [])
        return not found

    until(none, seconds)
    return found
