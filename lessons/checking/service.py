"""A process that checks one exercise after the other, each in children forked from it: what a screen talks to.

python -m lessons.checking.service --root . --answers answers --lang en [--limit 20] [--memory 2]

JAX is imported here once and no backend is started. Requests and replies are lines of JSON on stdin and stdout.

    {"id": 1, "check": "ch03_sharding.read_layout"}     → {"id": 1, "exercise": …, "outcome": …, "mistake": …,
                                                           "message": …, "line": …, "seed": …, "seconds": …}
    {"prepare": "ch03_sharding.read_layout"}            see its solution while there is nothing else to do; no reply

A new check ends the one under way, which gets the reply {"id": …, "superseded": true}. When stdin ends, so do we.
The inputs of an exercise stay the same until its answer is right, so that what was seen of the solution and of the
mistakes is seen once. The first line sent is {"ready": true, "exercises": […]}.
"""

import argparse
import dataclasses
import json
import os
import random
import select
import sys
import time
from pathlib import Path
from typing import Any

from lessons.checking import running
from lessons.checking.catalogue import Catalogue
from lessons.checking.explain import explain
from lessons.checking.spec import Settings
from lessons.checking.warm import warm_up
from minipod import forked


class _Superseded(Exception):
    """A check was asked for while another was under way."""


class Service:
    """Answers the requests that come on file descriptor `requests`, by lines on `replies`."""

    def __init__(self, root: Path, settings: Settings, lang: str, requests: int = 0, replies: int = 1) -> None:
        self.settings, self.lang = settings, lang
        self.catalogue = Catalogue(root / "lessons")
        self._known: dict[str, tuple[int, running.Known]] = {}
        self._requests, self._replies = requests, replies
        self._rest = b""
        self._checks: list[dict[str, Any]] = []
        self._wanted: list[str] = []  # exercises to prepare
        self._busy = False

    def serve(self) -> None:
        """Until stdin ends."""
        forked.on_turn.append(self._look)
        self._reply({"ready": True, "exercises": self.catalogue.exercises})
        try:
            while self._read(None if not (self._checks or self._wanted) else 0):
                if self._checks:
                    for request in self._checks[:-1]:
                        self._reply({"id": request.get("id"), "superseded": True})
                    request = self._checks[-1]
                    self._checks.clear()
                    self._work(request)
                elif self._wanted:
                    self._prepare(self._wanted.pop(0))
        except EOFError:
            pass
        finally:
            forked.on_turn.remove(self._look)
            forked.stop_all()

    def _work(self, request: dict[str, Any]) -> None:
        try:
            self._reply({"id": request.get("id"), **self._check(request["check"])})
        except _Superseded:
            self._reply({"id": request.get("id"), "superseded": True})
        except KeyError:
            self._reply({"id": request.get("id"), "error": f"no exercise {request['check']}"})

    def _check(self, exercise: str) -> dict[str, Any]:
        began = time.monotonic()
        settings, known = self._for(exercise)
        spec = self.catalogue.spec(exercise)
        verdict = running.finish(running.begin(spec, settings, known=known))
        if verdict.outcome in ("right", "skipped") or verdict.reason == "lesson":
            del self._known[exercise]
        return {
            "exercise": exercise,
            "outcome": verdict.outcome,
            "mistake": verdict.mistake,
            "message": explain(spec, verdict, settings.limit, settings.memory, self.lang),
            "line": verdict.line,
            "seed": settings.seed,
            "seconds": round(time.monotonic() - began, 3),
        }

    def _prepare(self, exercise: str) -> None:
        settings, known = self._for(exercise)
        try:
            running.prepare(self.catalogue.spec(exercise), settings, known)
        except _Superseded:
            self._wanted.insert(0, exercise)
        except KeyError:
            pass

    def _for(self, exercise: str) -> tuple[Settings, running.Known]:
        seed, known = self._known.setdefault(exercise, (random.randrange(10**6), running.Known()))
        return dataclasses.replace(self.settings, seed=seed), known

    def _look(self) -> None:
        """Called while children are waited for."""
        if not self._read(0):
            raise EOFError
        if self._checks:
            raise _Superseded

    def _read(self, seconds: float | None) -> bool:
        """Take in the requests that have come, waiting at most `seconds` for one. False when there will be no more."""
        while select.select([self._requests], [], [], seconds)[0]:
            if not (data := os.read(self._requests, 1 << 16)):
                return False
            seconds = 0
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                request = json.loads(line)
                if "check" in request:
                    self._checks.append(request)
                elif request["prepare"] not in self._wanted:
                    self._wanted.append(request["prepare"])
        return True

    def _reply(self, reply: dict[str, Any]) -> None:
        data = json.dumps(reply).encode() + b"\n"
        while data:
            data = data[os.write(self._replies, data) :]


def main() -> None:
    """The command line; `learn` starts it."""
    parser = argparse.ArgumentParser(prog="python -m lessons.checking.service", description=__doc__)
    parser.add_argument("--root", type=Path, required=True, help="the folder that holds lessons/ and solutions/")
    parser.add_argument("--answers", type=Path, required=True)
    parser.add_argument("--lang", default="en")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for one answer")
    parser.add_argument("--memory", type=float, default=2.0, help="GiB for one answer")
    parser.add_argument("--cache", type=Path, help="of compiled programs (default: ROOT/.cache/jax)")
    options = parser.parse_args()
    root = options.root.resolve()
    warm_up(options.cache or root / ".cache" / "jax")
    replies = os.dup(1)
    os.dup2(2, 1)  # a stray print must not look like a reply
    os.set_inheritable(replies, False)
    sys.stdin.close()  # the descriptor itself is what we read
    settings = Settings(options.answers.resolve(), 0, options.limit, options.memory)
    Service(root, settings, options.lang, requests=_only_ours(0), replies=replies).serve()


def _only_ours(fd: int) -> int:
    """The same open file under another number, while `fd` itself becomes empty: no child reads our requests."""
    ours = os.dup(fd)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, fd)
    os.close(null)
    return ours


if __name__ == "__main__":
    main()
