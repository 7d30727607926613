"""Follow one process of a local cluster from the launcher: its output, its reports and its end."""

import contextlib
import linecache
import os
import re
import selectors
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from minipod.cluster.protocol import ASK
from minipod.processes import Program, json_lines
from minipod.processes.frames import is_own
from minipod.processes.hang import (
    Idle,
    at_work,
    family_at_work,
    stands_in_jax,
    suspended,
    used_by_computation,
    used_by_family,
)
from minipod.processes.lines import Lines

# What gloo and the logging library write at every start. Gloo writes piece by piece, and its threads at once: a line
# may hold pieces of several messages, and the line ends that belong to them come later, as empty lines.
_NOISE = re.compile(
    r"\[Gloo\] Rank \d+ is connected to \d+ peer ranks\. Expected number of connected peer ranks is : \d+"
    r"|WARNING: All log messages before absl::InitializeLog\(\) is called are written to STDERR"
    r"|W\d{4} .*Using experimental recoverable task feature\..*"
    r"|\*\*\* Check failure stack trace: \*\*\*|^ +@ +0x[0-9a-f]{6,} +.*"  # the C++ stack of an abort
)
_PIECE = re.compile(r"\[Gloo\] Rank |is connected to |peer ranks\. |Expected number of connected peer ranks is : ")
ENOUGH = "… (the rest is not kept)"
ANSWER = 2.0  # seconds for a process to say where it is
PATIENCE = 10.0  # seconds for a keeper to end what it keeps
KEEP = 1_000_000  # characters of output kept per process; a program that prints without end must not fill the memory


@dataclass
class Member:
    """Process `index` of a cluster. Times are from `time.monotonic`, which all processes of one machine share."""

    index: int
    popen: Program  # its keeper
    show: Callable[[int, str], object] | None = None
    lines: list[str] = field(default_factory=list)
    report: dict[str, Any] = field(default_factory=dict)  # pid, raised, message, at, done, time …: see inside.py
    stack: list[tuple[str, int, str]] = field(default_factory=list)  # (file, line, function), innermost first
    ended_at: float | None = None
    hung: bool = False  # seen to hang
    _threads: set[int] = field(default_factory=set)  # of the program's own, beside the main one
    _kept: int = 0
    _replaced: bool = False  # whether the last line kept is to be replaced by the next
    _partial: bool = False  # whether it goes on
    _ended_here: bool = False  # ended by us, not by itself
    _noisy: bool = False  # whether the last native line was noise
    _lines: dict[str, Lines] = field(default_factory=dict)
    _asked_at: float | None = None  # when `hangs` last asked for its stack; None: not yet, or nobody could answer

    def __post_init__(self) -> None:
        self._family = Idle(lambda: used_by_family(self.popen.pid), lambda: family_at_work(self.popen.pid))
        self._computation = Idle(
            lambda: used_by_computation(self._program(), self._threads), lambda: at_work(self._program())
        )

    @property
    def running(self) -> bool:
        """Return whether the process still exists."""
        if self.popen.poll() is not None and self.ended_at is None:
            self.ended_at = time.monotonic()
        return self.popen.returncode is None

    @property
    def working(self) -> bool:
        """Return whether the program is still running; a program that waits for the others at exit has ended."""
        return self.running and "done" not in self.report

    @property
    def failed(self) -> bool:
        """Return whether the process has failed, or will fail once it need not wait for the others."""
        return bool(self.report.get("done")) or bool(self.popen.returncode)

    @property
    def code(self) -> int:
        """Return the exit code, from the program's report if there is one, or minus a signal; -9 while it runs."""
        own = self.report.get("done")
        if own or (own == 0 and (self._ended_here or self.popen.returncode == -ASK)):
            # pyrefly: ignore[bad-return]
            return own
        return self.popen.returncode if self.popen.returncode is not None else -signal.SIGKILL

    @property
    def left_at(self) -> float:
        """Return the time at which the program ended, or now if it still runs."""
        return self.report.get("time", self.ended_at or time.monotonic())

    def printed(self) -> str:
        """Return what the process has printed (the first million characters)."""
        return "".join(line + "\n" for line in self.lines)

    def ask_where(self) -> bool:
        """Ask the process for its stack, which will arrive in `stack`. Return False if the process cannot answer."""
        if "pid" not in self.report or self.suspended():
            return False
        self.stack.clear()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.report["pid"], ASK)
            return True
        return False

    def _program(self) -> int:
        return self.report.get("pid", self.popen.pid)

    def suspended(self) -> str:
        """Return how the program is stopped, as `minipod.processes.hang.suspended`; "" if it is not."""
        return suspended(self.report["pid"]) if "pid" in self.report else ""

    def idle_for(self) -> float:
        """Return the seconds since the process, or one that it started, was last seen working; call this often."""
        return self._family.seconds()

    def waits(self) -> bool:
        """Return whether nothing below the process was seen working in the last second; call `idle_for` often."""
        self._family.seconds()
        return self.hung or self._family.quiet > 1

    def hangs(self, seconds: float) -> bool:
        """Return whether the process has waited in JAX without computing for `seconds`; call this often.

        One call asks for the stack. A later call reads the answer, and asks again if it shows no wait in JAX.
        """
        if self._computation.seconds() < seconds:
            return False
        if self.suspended():
            return True
        now = time.monotonic()
        waited = 0.0 if self._asked_at is None else now - self._asked_at
        if self.stack and waited > ANSWER / 4:  # all of it has come
            self.hung = self._stands_in_jax()
        elif not self.stack and waited > ANSWER and not self.working:
            return True  # on its way out, and Python is no more: what it waits in is JAX's
        if not self.hung and (self._asked_at is None or waited > ANSWER):
            self._asked_at = now if self.ask_where() else None
        return self.hung

    def _stands_in_jax(self) -> bool:
        source = next((source_line(file, line) for file, line, _ in self.stack if is_own(file)), "")
        return stands_in_jax(self.report["pid"], self.stack, source)

    def stop(self) -> None:
        """Stop the program (SIGSTOP) without ending it."""
        self._ended_here = self.running
        if self.running and "pid" in self.report:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.report["pid"], signal.SIGSTOP)

    def end(self) -> None:
        """End the process and everything that it started; its keeper does so when its pipe closes."""
        self.popen.end(PATIENCE, *([self.report["pid"]] if "pid" in self.report else []))

    def read(self, channel: str, descriptor: int, channels: selectors.BaseSelector) -> None:
        """Read the lines that have arrived on `channel` ("text", "native" or "report"); close it at the end."""
        try:
            data = os.read(descriptor, 65536)
        except BlockingIOError:
            return
        lines = self._lines.setdefault(channel, Lines())
        for text, end in lines.feed(data) if data else lines.end():
            self._line(channel, text.decode(errors="replace"), end)
        if not data:
            channels.unregister(descriptor)
            os.close(descriptor)

    def where(self) -> tuple[str, int] | None:
        """Return the (file, line) of the user's code that the main thread is in, once `ask_where` has been answered."""
        return next(((file, line) for file, line, _ in self.stack if is_own(file)), None)

    def stack_text(self) -> str:
        """Describe where the process was, outermost frame first: the lines of its own code, then JAX's waiting call."""
        if not self.stack:
            return ""
        inner = [frame for frame in self.stack if is_own(frame[0]) or "/jax/" in frame[0]]
        first = next((n for n, frame in enumerate(inner) if is_own(frame[0])), len(inner))
        lines = []
        for file, line, function in reversed(inner[max(first - 1, 0) :]):
            if not is_own(file):
                lines.append(f"  in jax, {Path(file).name}:{line} {function}")
            elif source := source_line(file, line):
                lines.append(f"{Path(file).name}:{line} {source}")
        return "\n".join(lines)

    def _line(self, channel: str, line: str, end: bytes) -> None:
        if channel == "report":
            self._take_report(line)
            return
        if channel == "native":
            line, self._noisy = without_noise(line, self._noisy)
            if self._noisy and not line:
                return
        if end == b"\r" and not line:
            return
        if self.show:
            self.show(self.index, line)
        self._keep(line, end)

    def _take_report(self, line: str) -> None:
        if match := re.match(r'  File "(.+)", line (\d+) in (.+)', line):
            self.stack.append((match[1], int(match[2]), match[3]))
        elif line.startswith("{"):
            with contextlib.suppress(json_lines.Garbled):  # a program may write there, too
                report = json_lines.parse(line)
                if "thread" in report:
                    self._threads.add(report.pop("thread"))
                self.report |= report

    def _keep(self, line: str, end: bytes) -> None:
        """Keep in `lines` what a terminal would show at the end: of lines that replace each other, the last."""
        if self._replaced and self.lines:
            self._kept -= len(self.lines.pop()) + 1
        before = self.lines.pop() if self._partial and self.lines else ""
        self._replaced, self._partial = end == b"\r", end == b""
        if self._kept <= KEEP:
            self._kept += len(line) + (end != b"")
            self.lines.append(before + line if self._kept <= KEEP else ENOUGH)
        elif before:
            self.lines.append(before)


def source_line(file: str, line: int) -> str:
    """Return a line of a program's file, or ""; read anew, since an earlier run's file may have had the same name."""
    linecache.checkcache(file)
    return linecache.getline(file, line).strip()


def without_noise(line: str, noisy: bool = False) -> tuple[str, bool]:
    """Remove gloo's messages from `line`; also return whether it was only noise. noisy: whether the last line was."""
    quiet = _NOISE.sub("", line)
    if (noisy or _PIECE.search(quiet)) and not _PIECE.sub("", quiet).strip(" 0123456789"):
        quiet = ""
    return quiet, not quiet.strip() and (noisy or quiet != line)


def start(
    index: int,
    command: list[str],
    env: dict[str, str],
    channels: selectors.BaseSelector,
    show: Callable[[int, str], object] | None,
    place: Sequence[str] = (),
) -> Member:
    """Start process `index` of a cluster, with `place` in front of its command; register its `read` in `channels`."""
    pipes = {name: os.pipe() for name in ("report", "text", "native")}
    report, text, native = (pipes[name][1] for name in ("report", "text", "native"))
    try:
        popen = Program(
            [*place, sys.executable, "-P", "-m", "minipod.cluster.inside", str(report), str(text), *command],
            stdout=native,
            stderr=native,
            pass_fds=(report, text),
            env=env,
        )
    except BaseException:
        for reading, _ in pipes.values():
            os.close(reading)
        raise
    finally:
        for _, writing in pipes.values():
            os.close(writing)
    member = Member(index, popen, show)
    for name, (reading, _) in pipes.items():
        os.set_blocking(reading, False)
        channels.register(reading, selectors.EVENT_READ, partial(member.read, name, reading, channels))
    return member
