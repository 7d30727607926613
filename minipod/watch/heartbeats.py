"""Read the files that running processes write (`minipod.cluster.Heartbeat`)."""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minipod.cluster.heartbeat import FILES

Place = tuple[str, int, str]  # file, line, what stands there


@dataclass(frozen=True)
class Beat:
    """A process's latest report about itself.

    clock    the uncorrected clock of its host; durations are measured by the process itself
    doing    start, own (its part of a step), together (needs the others), between (steps) or ended
    seconds  how long the process has been doing this
    started  start time of the process, in the kernel's units
    namespace  the pid namespace in which `pid` is valid
    silent   seconds that the watcher has waited for the next report
    ahead    seconds by which the host's clock is ahead of the disk's
    """

    process: int
    processes: int
    host: str
    pid: int
    beat: int
    every: float
    clock: float
    doing: str
    step: int
    done: int
    seconds: float
    in_jax: bool
    at: Place | None
    own_at: Place | None
    step_seconds: float | None
    own_seconds: float | None
    namespace: str = ""
    started: int = 0
    silent: float = 0.0
    ahead: float = 0.0


class Folder:
    """A folder of heartbeats, to be read repeatedly: a process that has reported nothing new in between is silent.

    Raises FileNotFoundError or NotADirectoryError, each with one sentence, unless `folder` is a folder.
    """

    def __init__(self, folder: str | Path):
        self.path = Path(folder)
        if not self.path.exists():
            raise FileNotFoundError(f"{folder}: there is no such folder; does the program call Heartbeat(folder)?")
        if not self.path.is_dir():
            raise NotADirectoryError(f"{folder} is a file: give the folder that the program passes to Heartbeat")
        self._heard: dict[int, tuple[tuple[int, int], float]] = {}  # pid and beat, and when they were new here
        self._living: set[int] = set()
        self._ahead: dict[tuple[int, int], float] = {}  # the most: a slow disk makes a clock look behind

    def heard(self, beat: Beat) -> bool:
        """Return whether the process has reported anything new since this object was made, and so is alive."""
        return beat.process in self._living

    def look(self) -> tuple[list[Beat], list[str]]:
        """Return the latest report of each process, in order, and a sentence for each unreadable file.

        Raises FileNotFoundError if there is no file, ValueError if none can be read.
        """
        beats, unreadable = [], []
        paths = sorted(path for path in self.path.iterdir() if path.match(FILES.format("[0-9]*")))
        if not paths:
            such = FILES.format("000")
            raise FileNotFoundError(f"{self.path}: there is no heartbeat here (a file such as {such})")
        for path in paths:
            try:
                beats.append(self._beat(path))
            except FileNotFoundError:
                continue  # of an earlier start; the new one has just removed it
            except OSError as error:
                unreadable.append(f"{path.name} cannot be read: {error.strerror}")
            except (ValueError, TypeError, KeyError):
                unreadable.append(f"{path.name} is not a heartbeat that this version of minipod can read")
        if not beats:
            reason = unreadable[0] if unreadable else "there is no heartbeat here"
            raise ValueError(f"{self.path}: {reason}")
        return [b for b in beats if b.process < beats[0].processes], unreadable

    def _beat(self, path: Path) -> Beat:
        data: dict[str, Any] = json.loads(path.read_text("utf-8"))
        for name in ("at", "own_at"):
            data[name] = tuple(data[name]) if data[name] else None
        beat = Beat(**data)
        now = time.monotonic()
        news, since = self._heard.get(beat.process, ((0, 0), now))
        if news != (beat.pid, beat.beat):
            since = now
            if beat.process in self._heard:
                self._living.add(beat.process)
        self._heard[beat.process] = (beat.pid, beat.beat), since
        ahead = beat.clock - path.stat().st_mtime
        who = beat.process, beat.pid
        self._ahead[who] = ahead = max(ahead, self._ahead.get(who, ahead))
        return Beat(**data, silent=now - since, ahead=ahead)
