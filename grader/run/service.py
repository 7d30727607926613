"""Check one exercise after the other, each in forked children, in a process to which a screen sends requests.

python -m grader.run.service --root . --answers answers --lang en [--limit 20] [--memory 2]

JAX is imported here once, and no backend is started. Requests come on stdin and replies go to stdout, as lines of JSON
that `wire.encode` makes from the classes of service_messages.py. The reply to anything else is `Failed`.

A new check ends the one under way, which gets the reply `Superseded`. The process ends when stdin does. The inputs of
an exercise stay the same until its answer is right, so that the solution and the mistakes are observed only once. The
first reply is `Ready`, with sentences about exercises that the learner's own folder, ROOT/answers, lacked.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import random
import sys
import time
from pathlib import Path
from typing import Any

from grader.exercise import blanks
from grader.exercise.exercises import Catalogue
from grader.exercise.spec import Settings
from grader.messages import say
from grader.run import checking
from grader.run.service_messages import (
    CheckReply,
    CheckRequest,
    Failed,
    PrepareRequest,
    Ready,
    Reply,
    Request,
    Superseded,
)
from grader.run.warm_up import warm_up
from grader.see.wire import Malformed, decode, encode
from minipod import forked
from minipod.processes import environment, json_lines


class _Superseded(BaseException):
    """Raised when a check is asked for while a different one is under way."""


class _Ended(BaseException):
    """Raised when there will be no more requests."""


class Service:
    """A service that answers requests from file descriptor `requests` by lines on `replies`."""

    def __init__(self, root: Path, settings: Settings, lang: str, requests: int = 0, replies: int = 1) -> None:
        self.settings, self.lang = settings, lang
        self.catalogue = Catalogue(root / "lessons")
        self.notes: list[str] = []
        if settings.answers == root / "answers":
            self.notes = blanks.complete(root / "lessons", settings.answers, lang)
        self._cached: dict[str, tuple[int, checking.CachedResults]] = {}
        self._requests, self._replies = json_lines.Reader(requests), replies
        self._checks: list[CheckRequest] = []
        self._wanted: list[str] = []  # exercises to prepare
        self._busy = False

    def serve(self) -> None:
        """Answer requests until stdin ends."""
        forked.on_turn.append(self._look)
        self._reply(Ready(tuple(self.catalogue.exercises), tuple(self.notes)))
        try:
            while self._read(None if not (self._checks or self._wanted) else 0):
                if self._checks:
                    for request in self._checks[:-1]:
                        self._reply(Superseded(request.id))
                    request = self._checks[-1]
                    self._checks.clear()
                    self._work(request)
                elif self._wanted:
                    self._prepare(self._wanted.pop(0))
        except _Ended:
            pass
        finally:
            forked.on_turn.remove(self._look)
            forked.stop_all()

    def _work(self, request: CheckRequest) -> None:
        try:
            reply = self._check(request)
        except _Superseded:
            reply = Superseded(request.id)
        except Exception as error:  # a lesson that cannot be imported, for instance
            reply = Failed(request.id, _said(error))
        self._reply(reply)

    def _check(self, request: CheckRequest) -> CheckReply:
        began, exercise = time.monotonic(), request.exercise
        spec = self.catalogue.spec(exercise)
        settings, cached = self._for(exercise)
        check = checking.begin(spec, settings, cached=cached)
        verdict = checking.finish(check)
        message = checking.in_words(check, self.lang)
        if verdict.outcome in ("right", "skipped") or verdict.reason in ("lesson", "solution-ends"):
            del self._cached[exercise]
        seconds = round(time.monotonic() - began, 3)
        report = exercise, verdict.outcome, verdict.mistake, message, verdict.line, check.fingerprint
        return CheckReply(*report, request.id, settings.seed, seconds)

    def _prepare(self, exercise: str) -> None:
        try:
            with contextlib.suppress(Exception):  # the check itself will meet it, and say so
                spec = self.catalogue.spec(exercise)
                checking.prepare(spec, *self._for(exercise))
        except _Superseded:
            self._wanted.insert(0, exercise)

    def _for(self, exercise: str) -> tuple[Settings, checking.CachedResults]:
        seed, cached = self._cached.setdefault(exercise, (random.randrange(10**6), checking.CachedResults()))
        return dataclasses.replace(self.settings, seed=seed), cached

    def _look(self) -> None:
        """Look for new requests while waiting for children."""
        if not self._read(0):
            raise _Ended
        if self._checks:
            raise _Superseded

    def _read(self, seconds: float | None) -> bool:
        """Read the requests that have arrived, waiting at most `seconds` for one. Return False if none will follow."""
        while True:
            try:
                self._take(self._requests.read(seconds))
            except TimeoutError:
                return True
            except EOFError:
                return False
            except json_lines.Garbled as error:
                self._reply(Failed(None, f"not a request: {error.line[:100].decode(errors='replace')}"))
            seconds = 0

    def _take(self, data: Any) -> None:
        try:
            request = decode(Request, data)
        except Malformed:
            self._reply(Failed(None, f"not a request: {json.dumps(data)[:100]}"))
            return
        if isinstance(request, CheckRequest):
            self._checks.append(request)
        elif isinstance(request, PrepareRequest) and request.exercise not in self._wanted:
            self._wanted = [*self._wanted, request.exercise][-2:]  # where the learner was before is left alone

    def _reply(self, reply: Reply) -> None:
        json_lines.write(self._replies, encode(reply))


def _said(error: Exception) -> str:
    return f"no exercise {error.args[0]}" if isinstance(error, KeyError) else f"{type(error).__name__}: {error}"


def main() -> None:
    """Run the command line, which `learn` starts."""
    parser = argparse.ArgumentParser(prog="python -m grader.run.service", description=__doc__)
    parser.add_argument("--root", type=Path, required=True, help="the folder that holds lessons/ and solutions/")
    parser.add_argument("--answers", type=Path, required=True)
    parser.add_argument("--lang", default="en")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds that one answer may run")
    parser.add_argument("--memory", type=float, default=2.0, help="GiB of memory for each process of an answer")
    parser.add_argument("--cache", type=Path, help="cache of compiled programs (default: ROOT/.cache/jax)")
    options = parser.parse_args()
    root = options.root.resolve()
    left_aside = environment.cleanse()
    warm_up(options.cache or root / ".cache" / "jax")
    replies = json_lines.taken(1)
    os.dup2(2, 1)  # where a stray print may be read
    sys.stdin.close()  # the descriptor itself is what we read
    settings = Settings(options.answers.resolve(), 0, options.limit, options.memory)
    service = Service(root, settings, options.lang, requests=json_lines.taken(0), replies=replies)
    if left_aside:
        service.notes.append(say("left-aside", options.lang, names=", ".join(left_aside)))
    service.serve()


if __name__ == "__main__":
    main()
