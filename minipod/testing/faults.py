"""Kill, stop or slow down a process at a step that the test names."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

KINDS = ("kill", "stop", "delay")


@dataclass(frozen=True)
class Fault:
    """A fault. kind: "kill" (SIGKILL), "stop" (SIGSTOP: alive, but silent) or "delay" (it sleeps `seconds`)."""

    kind: str
    process: int
    step: int
    seconds: float = 1.0


_armed: list[Fault] = []
_note: list[Path] = []


def arm(faults: list[Fault], note: Path) -> None:
    """Prepare this process's faults. note: a file that exists afterwards if one has killed or stopped it."""
    _armed[:] = faults
    _note[:] = [note]


def reach(step: int) -> None:
    """Mark the beginning of `step` in a loop; the test's marker `fault(kind, process, step)` strikes here."""
    for fault in [fault for fault in _armed if fault.step == step]:
        _armed.remove(fault)
        if fault.kind == "delay":
            time.sleep(fault.seconds)
        else:
            _note[0].touch()
            os.kill(os.getpid(), signal.SIGKILL if fault.kind == "kill" else signal.SIGSTOP)


def missed() -> list[Fault]:
    """Return the faults that have not struck."""
    return [*_armed]
