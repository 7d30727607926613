"""Run sandboxes from outside: each is a process that answers line by line; several are open at the same time.

The reply of a sandbox comes from the submission's own process, so it is not trusted: it is a line of limited length,
within a limited time, and is handed on unread.
"""

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from grader.classroom.sandbox import isolation, shares
from grader.classroom.sandbox.isolation import SandboxFiles
from grader.classroom.sandbox.sandbox_child import LONGEST, TRIES
from grader.classroom.sandbox.sandbox_messages import Reach, Ready, Reply, Request, Try
from grader.see.wire import Malformed, decode, encode
from minipod import processes
from minipod.processes import json_lines, memory_watch

PROCESSES = 256 + 32 * (os.cpu_count() or 1)  # and threads: the most in a sandbox; JAX starts some for each core
START = 180.0  # seconds until a sandbox is ready, on a machine that is busy
GRACE = 30.0  # seconds for a reply beyond the answer's own limit


class SandboxLost(Exception):
    """Raised if a sandbox has ended, or was ended; the message key says why."""


Answer = tuple[str, str]  # a student, and an exercise


@dataclass(frozen=True)
class Question:
    """One request. limit: seconds of one try. memory: GiB of all processes.

    make  builds the request when its turn comes; None: it is no longer needed, and there is no reply
    reply_to  returns the answer to a line that asks something before the reply; None: the line is the reply
    """

    answer: Answer
    make: Callable[[], Request | None]
    limit: float
    memory: float
    reply_to: Callable[[bytes], Request | None] = lambda line: None


Work = deque[Question]  # what one student's sandboxes are asked
Arrived = Callable[[Answer, bytes | str], object]  # the reply's line as it came, or the key of a message why none did


class Sandbox:
    """One isolated process. `ask` sends a request; `turn` returns None until the reply has come."""

    def __init__(self, kind: str, files: SandboxFiles, share: shares.Shares | None = None) -> None:
        bare = kind == "none"
        self._tmp = tempfile.TemporaryDirectory(prefix="sandbox-", ignore_cleanup_errors=True) if bare else None
        folder = self._tmp.name if self._tmp else "/tmp"
        line = [sys.executable, "-m", "grader.classroom.sandbox.sandbox_child", "--cache", str(files.cache)]
        line += ["--parent", str(os.getpid())] if bare else []
        line += ["--processes", str(PROCESSES)] if isolation.counts_processes(kind) else []
        command = isolation.command(kind, files, line)
        self._process = processes.Program(
            share.enter(command) if share else command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=isolation.environment(files, folder),
            cwd=folder if self._tmp else "/",
        )
        assert self._process.stdin and self._process.stdout
        self._in, self.out = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._in, False)
        os.set_blocking(self.out, False)
        self._unsent, self._line = b"", bytearray()
        self._is_open, self._allowed = False, 0.0
        self._deadline = time.monotonic() + START

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, request: Request, seconds: float, memory: float = 0.0) -> None:
        """Send a request; its reply is due in `seconds`. memory: GiB that all its processes together may use."""
        self._unsent = json_lines.encode(encode(request))
        self._deadline = time.monotonic() + seconds
        self._allowed = memory

    def tell(self, request: Request) -> None:
        """Answer a question that came before the reply; the reply's deadline stays the same."""
        self._unsent += json_lines.encode(encode(request))

    def turn(self) -> bytes | None:
        """Return the line of the reply; b"" at first, when requests can be sent; None while there is none.

        Raises SandboxLost.
        """
        with contextlib.suppress(BlockingIOError, BrokenPipeError):
            while self._unsent:
                self._unsent = self._unsent[os.write(self._in, self._unsent) :]
        late = time.monotonic() > self._deadline
        with contextlib.suppress(BlockingIOError):
            while b"\n" not in self._line[-(1 << 20) :]:
                if len(self._line) > LONGEST:
                    raise SandboxLost("class-sandbox-nonsense")
                if not (data := os.read(self.out, 1 << 20)):
                    raise SandboxLost("class-sandbox-died")
                self._line += data
        line, end, _ = bytes(self._line).partition(b"\n")
        if not end:
            if late:
                raise SandboxLost("class-sandbox-silent")
            return None
        self._line.clear()  # it speaks when it is asked, and once
        if self._is_open:
            return line
        self._is_open = True
        try:
            decode(Ready, json.loads(line))
        except (ValueError, RecursionError, Malformed):
            raise SandboxLost("class-sandbox-nonsense") from None
        return b""

    def is_over_memory(self, used: dict[int, int]) -> bool:
        """Return whether its processes together hold more than the request allows. used: bytes of every process."""
        return bool(self._allowed) and used.get(self.pid, 0) > self._allowed * 2**30

    def close(self, others: frozenset[int]) -> None:
        """End the sandbox and everything that it left, that is, every child of ours except `others`."""
        self._process.end()
        if self._process.stdout:
            self._process.stdout.close()
        processes.kill_children(spare=others)
        if self._tmp:
            self._tmp.cleanup()


def run_all(kind: str, files: SandboxFiles, work: list[Work], jobs: int, arrived: Arrived) -> None:
    """Ask all questions, `jobs` sandboxes at a time; if one ends, its current request is lost and a new one goes on."""
    processes.adopt_orphans()
    before = frozenset(processes.children())  # of the program that asks
    waiting = deque(item for item in work if item)
    open_: dict[Sandbox, tuple[Work, Question | None]] = {}  # with the request under way
    watch = memory_watch.Watch()
    ended = contextlib.ExitStack()
    share = ended.enter_context(shares.made())
    try:
        while waiting or open_:
            while waiting and len(open_) < jobs:
                open_[Sandbox(kind, files, share)] = waiting.popleft(), None
            select.select([sandbox.out for sandbox in open_], [], [], 0.05)
            used = watch.look([sandbox.pid for sandbox in open_])
            for sandbox, (item, question) in list(open_.items()):
                try:
                    if sandbox.is_over_memory(used):
                        raise SandboxLost("class-sandbox-memory")
                    line = sandbox.turn()
                    if line is None:
                        continue
                    if question and (reply := question.reply_to(line)):
                        sandbox.tell(reply)
                        continue
                except SandboxLost as error:
                    question = question or item.popleft()  # one that never opens ends, too
                    _shut(sandbox, open_, before)
                    if item:
                        waiting.appendleft(item)
                    arrived(question.answer, str(error))
                    continue
                following = _asked(sandbox, item)
                if following:
                    open_[sandbox] = item, following
                else:
                    _shut(sandbox, open_, before)
                if question is not None:
                    arrived(question.answer, line)
    finally:
        for sandbox in list(open_):
            _shut(sandbox, open_, before)
        ended.close()


def _asked(sandbox: Sandbox, item: Work) -> Question | None:
    """Ask the sandbox the next of these questions that is still open; return that question."""
    while item:
        question = item.popleft()
        if request := question.make():
            sandbox.ask(request, TRIES * question.limit + GRACE, question.memory)
            return question
    return None


def _shut(sandbox: Sandbox, open_: dict[Sandbox, tuple[Work, Question | None]], before: frozenset[int]) -> None:
    del open_[sandbox]
    sandbox.close(before.union(other.pid for other in open_))


def attempt(kind: str, files: SandboxFiles, paths: list[str]) -> Reach:
    """Ask sandbox_child.py what a sandbox of this kind can do and reach. Raises SandboxLost if none opens."""
    processes.adopt_orphans()
    before = frozenset(processes.children())
    sandbox = Sandbox(kind, files)
    try:
        _await(sandbox)
        sandbox.ask(Try(tuple(paths)), START)
        reach = decode(Reply, json.loads(_await(sandbox)))
        if not isinstance(reach, Reach):
            raise SandboxLost("class-sandbox-nonsense")
        return reach
    except (ValueError, RecursionError):
        raise SandboxLost("class-sandbox-nonsense") from None
    finally:
        sandbox.close(before)


def _await(sandbox: Sandbox) -> bytes:
    while (line := sandbox.turn()) is None:
        select.select([sandbox.out], [], [], 0.05)
    return line
