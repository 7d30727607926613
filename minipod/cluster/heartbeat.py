"""Report a process's progress in a file for `minipod watch`: its step, the time in it, and its line of code."""

import atexit
import contextlib
import json
import os
import socket
import statistics
import sys
import threading
import time
from collections import Counter, deque
from pathlib import Path
from typing import Any

from minipod import jax_private
from minipod.cluster.process import source_line
from minipod.processes import identity
from minipod.processes.frames import is_own
from minipod.processes.hang import Frame, stands_in_jax

LAST = 10  # steps that the medians are of
STANDS = 1.0  # seconds after which it is worth asking what it waits in
FAREWELL = 2.0  # seconds for the last line, on a disk that may be dead
FILES = "minipod-beat-{}.json"  # names that nobody else gives: the folder may hold files of others


class Heartbeat:
    """The file in which this process reports its progress to `minipod watch`; a thread writes it every `every` seconds.

    `folder` must be visible to all processes. The files are `minipod-beat-000.json`, `minipod-beat-001.json`, …;
    nothing else in the folder is touched.

    Call `begin(step)` before a step, `ready()` when this process has done its own part and needs the others, and
    `done()` after the step. `begin` alone is enough, but then no process can be found slow. Each call notes a time in
    memory. If the disk fails, the program goes on; its file becomes old, and `minipod watch` says so. Create the
    heartbeat after `jax.distributed.initialize`, which gives the process its number. Raises OSError if the folder
    cannot be made.
    """

    def __init__(self, folder: str | Path, every: float = 1.0):
        self._process, self._processes = _place()
        self._folder, self._every, self._beat = Path(folder), every, 0
        self._who = {"pid": os.getpid(), "namespace": identity.namespace(), "started": identity.started(os.getpid())}
        self._own: deque[float] = deque(maxlen=LAST)  # seconds of each step's own part
        self._whole: deque[float] = deque(maxlen=LAST)
        self._places: deque[tuple[str, int]] = deque(maxlen=2 * LAST)  # where it was seen in its own part
        self._now: tuple[str, int, float] = ("start", 0, time.perf_counter())  # what it does, step, since when
        self._began = 0.0
        self._done = 0
        self._end = threading.Event()
        self._folder.mkdir(parents=True, exist_ok=True)
        if self._process == 0:
            _remove_of_more(self._folder, self._processes)
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def begin(self, step: int) -> None:
        """Begin a step, and end the previous step if `done` was not called."""
        if self._now[0] in ("own", "together"):
            self.done()
        self._began = time.perf_counter()
        self._now = ("own", step, self._began)

    def ready(self) -> None:
        """Report that this process has done its own part of the step and now needs the others."""
        now = time.perf_counter()
        self._own.append(now - self._began)
        self._now = ("together", self._now[1], now)

    def done(self) -> None:
        """Report that the step is done in all processes."""
        now = time.perf_counter()
        self._whole.append(now - self._began)
        self._done = self._now[1]
        self._now = ("between", self._done, now)

    @property
    def own(self) -> float:
        """Return the median seconds of this process's own parts of its last ten steps; 0 if there are none."""
        return statistics.median_low(self._own or [0.0])

    def close(self) -> None:
        """Report that this process ends, waiting 2 s at most for the disk; also called at exit."""
        if not self._end.is_set():
            self._now = ("ended", self._now[1], time.perf_counter())
            self._end.set()
            self._thread.join(FAREWELL)

    def _run(self) -> None:
        while True:
            ending = self._end.is_set()  # asked first: what is being written meanwhile does not say that it ends
            with contextlib.suppress(OSError):
                self._write()
            if ending:
                return
            self._end.wait(self._every)

    def _write(self) -> None:
        self._beat += 1
        text = json.dumps(self._told())
        path = self._folder / FILES.format(f"{self._process:03}")
        beside = path.with_name(f".{path.name}.tmp")
        beside.unlink(missing_ok=True)  # of one that was killed; or a link, which may lead to any file
        with beside.open("x", encoding="utf-8") as file:
            file.write(text + "\n")
        beside.replace(path)  # whole or not at all

    def _told(self) -> dict[str, Any]:
        doing, step, since = self._now
        seconds = time.perf_counter() - since
        stack = _stack()
        place = next(((file, line) for file, line, _ in stack if is_own(file)), None)
        if doing == "own" and place:
            self._places.append(place)
        return {
            "process": self._process, "processes": self._processes, "host": socket.gethostname(), **self._who,
            "beat": self._beat, "every": self._every, "clock": time.time(),
            "doing": doing, "step": step, "done": self._done, "seconds": round(seconds, 3),
            "in_jax": seconds > STANDS and stands_in_jax(os.getpid(), stack, source_line(*place) if place else ""),
            "at": _named(place), "own_at": _named(max(Counter(self._places).items(), key=lambda p: p[1])[0])
            if self._places else None,
            "step_seconds": round(statistics.median_low(self._whole), 6) if self._whole else None,
            "own_seconds": round(self.own, 6) if self._own else None,
        }  # fmt: skip


def _place() -> tuple[int, int]:
    """Return (process_id, num_processes) as passed to `jax.distributed.initialize`; (0, 1) without it."""
    jax: Any = sys.modules.get("jax")
    if jax is None or not jax.distributed.is_initialized():
        return 0, 1
    return jax_private.process_and_count() or (jax.process_index(), jax.process_count())


def _remove_of_more(folder: Path, processes: int) -> None:
    """Remove the heartbeats that an earlier run with more processes has left here."""
    for path in folder.glob(FILES.format("*")):
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            data = json.loads(path.read_text("utf-8"))
            if data["process"] >= processes and data["beat"] and path.name == FILES.format(f"{data['process']:03}"):
                path.unlink()


def _stack() -> list[Frame]:
    """Return the main thread's frames, innermost first."""
    frame, frames = sys._current_frames().get(threading.main_thread().ident or 0), []
    while frame:
        frames.append((frame.f_code.co_filename, frame.f_lineno or 0, frame.f_code.co_name))
        frame = frame.f_back
    return frames


def _named(place: tuple[str, int] | None) -> list[Any] | None:
    """Return the file without its folder, the line number, and the source line."""
    return [Path(place[0]).name, place[1], source_line(*place)] if place else None
