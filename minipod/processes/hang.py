"""Tell whether a process hangs or works: where its main thread is, and whether anything in it computes.

A process that waits for others that are gone is in a call of JAX, and none of the threads that compute for it
uses the processor. A process that sleeps, or waits for a disk or for a program that it started, is elsewhere. An
unclear case does not count as a hang; the limit ends it. A thread that the program started and that waits in JAX is not
noticed.
"""

import contextlib
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from minipod.processes.frames import is_own, is_standard

LOOK = 0.5  # seconds between two looks at the processor time
NOTHING = 0.015  # seconds of it between two looks that are no work: JAX's own threads need about that in two seconds
ASLEEP = 0.5  # seconds between two calls that are more than a busy caller's: the machine itself stood still
AT_WORK = (psutil.STATUS_DISK_SLEEP, psutil.STATUS_RUNNING)

Frame = tuple[str, int, str]  # file, line, function


class Idle:
    """The time for which something has done no work. used: returns the seconds of processor time used so far.

    at_work: returns whether it is now waiting for a disk or for a processor that others use. Time in which the whole
    machine stands still, the caller included, does not count as idle; `quiet` is the time without that exception.
    """

    def __init__(self, used: Callable[[], float], at_work: Callable[[], bool] = lambda: False):
        self._used, self._at_work = used, at_work
        self._before = -1.0
        self._called_at = self._looked_at = self._worked_at = self._seen_at = time.monotonic()

    @property
    def quiet(self) -> float:
        """Return the seconds by the clock between the work last seen and the last call of `seconds`."""
        return self._called_at - self._seen_at

    def seconds(self) -> float:
        """Return the seconds since work was last seen; call this often, many times in each half second."""
        now = time.monotonic()
        if self._before >= 0 and now > self._called_at + ASLEEP:
            self._worked_at += now - self._called_at
        self._called_at = now
        if now > self._looked_at + LOOK or self._before < 0:
            used = self._used()
            if abs(used - self._before) > NOTHING or self._at_work():
                self._worked_at = self._seen_at = now
            self._before, self._looked_at = used, now
        return now - self._worked_at


def used_by_family(pid: int) -> float:
    """Return the seconds of processor time of all processes below `pid`, including their ended children."""
    with contextlib.suppress(psutil.Error):
        family = psutil.Process(pid).children(recursive=True)
        return sum(_seconds(process) for process in family)
    return 0.0


def family_at_work(pid: int) -> bool:
    """Return whether any process below `pid` waits for a disk or a processor, or is running."""
    with contextlib.suppress(psutil.Error):
        return any(_status(process) in AT_WORK for process in psutil.Process(pid).children(recursive=True))
    return False


def at_work(pid: int) -> bool:
    """Return whether a process's main thread runs, or waits for a disk or a processor; False except on Linux."""
    with contextlib.suppress(psutil.Error):
        return sys.platform == "linux" and _status(psutil.Process(pid)) in AT_WORK  # not tried on macOS
    return False


def used_by_computation(pid: int, others: set[int]) -> float:
    """Return the seconds of processor time of one process, without those of its threads `others` if known."""
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        times = process.cpu_times()
        used = times.user + times.system
        with contextlib.suppress(psutil.AccessDenied):  # macOS tells only root about threads
            used -= sum(t.user_time + t.system_time for t in process.threads() if t.id in others)
        return used
    return 0.0


def suspended(pid: int) -> str:
    """Return "suspended (SIGSTOP)" for a stopped process, "stopped by a debugger" for a traced one, otherwise ""."""
    stops = {psutil.STATUS_STOPPED: "suspended (SIGSTOP)", psutil.STATUS_TRACING_STOP: "stopped by a debugger"}
    with contextlib.suppress(psutil.Error):
        return stops.get(psutil.Process(pid).status(), "")
    return ""


def stands_in_jax(pid: int, stack: list[Frame], source: str) -> bool:
    """Return whether a thread with this stack, innermost frame first, waits in JAX, as far as can be seen.

    source: the program's own line that the thread is in. If that line is the innermost frame, it has called something
    that is not written in Python; then the kernel tells what kind of wait it is.
    """
    frame = next((f for f in stack if not is_standard(f[0])), None)
    if frame is None:
        return False
    file, _, function = frame
    if not is_own(file):
        return any(f"/{name}/" in file for name in ("jax", "jaxlib", "minipod")) or "barrier" in function
    if frame is not stack[0] or ".acquire(" in source:  # it waits in Python itself: for a thread, a queue, a program
        return False
    wait = _kind_of_wait(pid)
    return "futex" in wait and _has_jax(pid) if wait else "block_until_ready" in source


def _kind_of_wait(pid: int) -> str:
    """Return the kernel's name for the main thread's wait: `futex_do_wait`, `hrtimer_nanosleep`; "" if unknown."""
    with contextlib.suppress(OSError):
        symbol = Path(f"/proc/{pid}/wchan").read_text()
        return "" if symbol == "0" else symbol
    return ""


def _has_jax(pid: int) -> bool:
    """Return whether the process has loaded JAX's compiled part. Used on Linux only."""
    with contextlib.suppress(psutil.Error):
        return any("/jaxlib/" in mapped.path for mapped in psutil.Process(pid).memory_maps())
    return False


def _status(process: psutil.Process) -> str:
    with contextlib.suppress(psutil.Error):
        return str(process.status())
    return ""


def _seconds(process: psutil.Process) -> float:
    with contextlib.suppress(psutil.Error):
        return sum(process.cpu_times()[:4])  # its own, user and system, and its ended children's
    return 0.0
