"""Run a notebook's checking process, grader/run/service.py, outside the kernel; it starts when it is first needed."""

import atexit
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from grader.run.service_messages import CheckReply, CheckRequest, Failed, Reply
from grader.see.wire import Malformed, decode, encode
from minipod.processes import Program, environment, json_lines

HERE = Path(__file__).resolve().parents[2]  # where `grader` is imported from
RESTARTS = 2  # of a process that ends before it has said anything


class Lost(Exception):
    """Raised if the process has ended repeatedly; the message is its last error line."""


class Checker:
    """One checking process, and the folder of the file that it checks; both end with the kernel.

    root    the folder that contains lessons/ and solutions/
    limit   seconds that one answer may run
    memory  GiB for each of its processes
    """

    def __init__(self, root: Path, lang: str, limit: float, memory: float) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="lessons-")
        self._errors = Path(self._folder.name, "errors")
        self.answers = Path(self._folder.name, "answers").resolve()
        self.answers.mkdir()
        self._work = Path(self._folder.name, "work")
        self._work.mkdir()
        options = {"root": root, "answers": self.answers, "lang": lang, "limit": limit, "memory": memory}
        options["cache"] = Path(self._folder.name, "cache")
        self._command = [sys.executable, "-m", "grader.run.service"]
        for name, value in options.items():
            self._command += [f"--{name}", str(value)]
        self._process: Program | None = None
        self._replies: json_lines.Reader | None = None
        self._kernel = os.getpid()
        atexit.register(self.end)

    def check(self, exercise: str) -> CheckReply | Failed:
        """Return the verdict on the answers file. Raises Lost or KeyboardInterrupt; then the process has ended."""
        for _ in range(RESTARTS):
            try:
                process = self._process or self._start()
                assert process.stdin
                json_lines.write(process.stdin.fileno(), encode(CheckRequest(exercise)))
                while not isinstance(reply := self._reply(), CheckReply | Failed):
                    pass  # it is ready
                return reply
            except (OSError, EOFError, json_lines.Garbled, Malformed):
                self._stop()
            except BaseException:  # the learner has interrupted the kernel
                self._stop()
                raise
        raise Lost(self._last_words())

    def end(self) -> None:
        """End the process and remove the folder."""
        if os.getpid() == self._kernel:  # and not a child of the kernel, which runs what was registered there, too
            atexit.unregister(self.end)
            self._stop(patience=2.0)
            self._folder.cleanup()

    def _start(self) -> Program:
        path = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH", "")]))
        with self._errors.open("wb") as errors:
            self._process = Program(
                self._command,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=self._work,
                env=environment.clean(PYTHONPATH=path),  # the book's own cells set some
            )
        assert self._process.stdout
        self._replies = json_lines.Reader(self._process.stdout.fileno())
        return self._process

    def _reply(self) -> Reply:
        assert self._replies
        return decode(Reply, self._replies.read())

    def _stop(self, patience: float = 0.0) -> None:
        process, self._process = self._process, None
        if process:
            process.end(patience)
            if process.stdout:
                process.stdout.close()

    def _last_words(self) -> str:
        lines = self._errors.read_text("utf-8", "replace").split("\n") if self._errors.exists() else []
        return next((line.strip() for line in reversed(lines) if line.strip()), "")
