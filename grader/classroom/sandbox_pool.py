"""Sandboxes from outside: one is a process that is asked line by line; several are open at a time.

What a sandbox says comes from the submission's own process and is taken for no more than that: lines of JSON, of
limited length, within a limited time.
"""

import contextlib
import os
import select
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from grader.classroom import isolation
from grader.classroom.isolation import SandboxFiles
from grader.classroom.sandbox_child import TRIES
from grader.classroom.sandbox_messages import Reach, Reply, Request, Results, See, Try
from grader.see.observation import ProcessResult
from grader.see.wire import Malformed, decode, encode
from minipod import processes
from minipod.processes import json_lines

PROCESSES = 256 + 32 * (os.cpu_count() or 1)  # and threads: the most in a sandbox; JAX starts some for each core
LONGEST = 64 << 20  # bytes of one reply
START = 90.0  # seconds until a sandbox is ready
GRACE = 30.0  # seconds for a reply beyond the answer's own limit


class SandboxLost(Exception):
    """The sandbox has ended, or was ended; the message key says why."""


@dataclass
class Work:
    """What one student's sandboxes have to do: requests, then what was seen by exercise.

    seen  how the processes ended, or the key of a message why that is not known
    """

    student: str
    requests: deque[See]
    seen: dict[str, tuple[ProcessResult, ...] | str] = field(default_factory=dict)


class Sandbox:
    """One isolated process. `ask` sends a request; `turn` says None until the reply has come."""

    def __init__(self, kind: str, files: SandboxFiles, place: int = 0) -> None:
        self.place = place
        bare = kind == "none"
        self._tmp = tempfile.TemporaryDirectory(prefix="sandbox-", ignore_cleanup_errors=True) if bare else None
        folder = self._tmp.name if self._tmp else "/tmp"
        line = [
            sys.executable,
            "-m",
            "grader.classroom.sandbox_child",
            "--root",
            str(files.root),
            "--cache",
            str(files.cache),
        ]
        line += ["--parent", str(os.getpid())] if bare else []
        line += ["--processes", str(PROCESSES)] if isolation.counts_processes(kind) else []
        self._process = processes.Program(
            isolation.command(kind, files, line, place),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=isolation.environment(files, folder),
            cwd=folder if self._tmp else "/",
        )
        assert self._process.stdin and self._process.stdout
        self._in, self.out = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._in, False)
        self._unsent, self._replies = b"", json_lines.Reader(self.out, LONGEST)
        self._deadline = time.monotonic() + START

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, request: Request, seconds: float) -> None:
        """Send a request; its reply is due in `seconds`."""
        self._unsent = json_lines.encode(encode(request))
        self._deadline = time.monotonic() + seconds

    def turn(self) -> Reply | None:
        """The reply, or None when it has not come yet. Raises SandboxLost."""
        with contextlib.suppress(BlockingIOError, BrokenPipeError):
            while self._unsent:
                self._unsent = self._unsent[os.write(self._in, self._unsent) :]
        try:
            return decode(Reply, self._replies.read(0))
        except TimeoutError:
            if time.monotonic() > self._deadline:
                raise SandboxLost("class-sandbox-silent") from None
            return None
        except EOFError:
            raise SandboxLost("class-sandbox-died") from None
        except (json_lines.Garbled, Malformed):
            raise SandboxLost("class-sandbox-nonsense") from None

    def close(self, others: frozenset[int] = frozenset()) -> None:
        """End the sandbox and whatever it left, but for the sandboxes `others`."""
        self._process.end()
        if self._process.stdout:
            self._process.stdout.close()
        processes.kill_children(spare=others)
        if self._tmp:
            self._tmp.cleanup()


def run_all(kind: str, files: SandboxFiles, work: list[Work], jobs: int, done: Callable[[Work], object]) -> None:
    """Do all the work, `jobs` sandboxes at a time; one that ends costs the request under way, and a new one goes on.

    done  called after each request that has its result
    """
    processes.adopt_orphans()
    waiting = deque(w for w in work if w.requests)
    open_: dict[Sandbox, tuple[Work, See | None]] = {}  # with the request under way
    try:
        while waiting or open_:
            while waiting and len(open_) < jobs:
                place = min(set(range(jobs)) - {sandbox.place for sandbox in open_})
                open_[Sandbox(kind, files, place)] = waiting.popleft(), None
            select.select([sandbox.out for sandbox in open_], [], [], 0.05)
            for sandbox, (item, request) in list(open_.items()):
                try:
                    reply = sandbox.turn()
                    if reply is None:
                        continue
                    if request is not None and not isinstance(reply, Results):
                        raise SandboxLost("class-sandbox-nonsense")
                except SandboxLost as error:
                    request = request or item.requests.popleft()  # one that never opens ends, too
                    item.seen[request.exercise] = str(error)
                    done(item)
                    _shut(sandbox, open_)
                    if item.requests:
                        waiting.appendleft(item)
                    continue
                if request is not None and isinstance(reply, Results):
                    item.seen[request.exercise] = reply.results
                    done(item)
                if item.requests:
                    following = item.requests.popleft()
                    sandbox.ask(following, TRIES * following.limit + GRACE)
                    open_[sandbox] = item, following
                else:
                    _shut(sandbox, open_)
    finally:
        for sandbox in list(open_):
            _shut(sandbox, open_)


def _shut(sandbox: Sandbox, open_: dict[Sandbox, tuple[Work, See | None]]) -> None:
    del open_[sandbox]
    sandbox.close(frozenset(other.pid for other in open_))


def attempt(kind: str, files: SandboxFiles, paths: list[str]) -> Reach:
    """What a sandbox of this kind can do and reach, as sandbox_child.py says. Raises SandboxLost when none opens."""
    processes.adopt_orphans()
    sandbox = Sandbox(kind, files)
    try:
        _await(sandbox)
        sandbox.ask(Try(tuple(paths)), START)
        reach = _await(sandbox)
        if not isinstance(reach, Reach):
            raise SandboxLost("class-sandbox-nonsense")
        return reach
    finally:
        sandbox.close()


def _await(sandbox: Sandbox) -> Reply:
    while (reply := sandbox.turn()) is None:
        select.select([sandbox.out], [], [], 0.05)
    return reply
