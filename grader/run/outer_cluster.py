"""Check two-process exercises in the cluster in which pytest itself was started (minipod run -m pytest, srun, mpirun).

Each pytest forks one worker, which joins the cluster and observes one file after the other. The observations are
gathered, so that every process reaches the same verdict. Process 0 does everything else, and reports. After a hang,
the cluster is not used again.
"""

import contextlib
import faulthandler
import json
import os
import signal
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.exercise.spec import Settings, Spec
from grader.see import observe
from grader.see.observation import Observation, ProcessResult, received
from grader.see.observe import Target
from grader.see.wire import Malformed, decode, encode
from minipod import forked, processes
from minipod.cluster import coordinator_store
from minipod.cluster.place import place
from minipod.processes import environment, json_lines

GRACE = 2.0  # seconds for a worker to end once it has closed its pipe


@dataclass(frozen=True)
class _Request:
    """The spec, and the functions to observe."""

    spec: int
    path: str
    names: tuple[str, ...]
    source: str | None
    oracle: bool


class _Reply:
    """Any of the classes below, as the worker sends it."""


@dataclass(frozen=True)
class _Joined(_Reply):
    """The worker has joined the cluster. seed: that of process 0."""

    seed: int


@dataclass(frozen=True)
class _Everywhere(_Reply):
    """The observations of each process, still encoded."""

    files: tuple[object, ...]


@dataclass(frozen=True)
class _Alone(_Reply):
    """The observations of this process, still encoded, which it could not share."""

    file: object


@dataclass(frozen=True)
class _Ended(_Reply):
    """The end of the worker without a reply."""

    status: str
    text: str = ""


class Worker:
    """This process's member of the cluster. `failed_in` names the exercise in which the cluster failed."""

    def __init__(self, specs: list[Spec], settings: Settings) -> None:
        self.specs, self.settings = specs, settings
        self.place = place()
        self.failed_in: str | None = None
        self._status: int | None = None  # how the worker ended
        self.seed = settings.seed
        requests, self._ask = os.pipe()
        receive, replies = os.pipe()
        self.pid = processes.fork()
        if self.pid == 0:
            try:
                self._serve(requests, replies)
            finally:
                os._exit(1)
        os.close(requests)
        os.close(replies)
        self._replies = json_lines.Reader(receive)
        started = self._reply(60 + 2 * settings.limit)
        if isinstance(started, _Joined):
            self.seed = started.seed
        else:
            self.failed_in = "start"

    def see(self, spec: Spec, target: Target) -> list[ProcessResult]:
        """Return the observations of a file by process; after a failure, "hung" for the others, or one's own alone."""
        about = target.source, target.oracle
        request = _Request(self.specs.index(spec), str(target.path), tuple(target.names), *about)
        with contextlib.suppress(OSError):
            json_lines.write(self._ask, encode(request))
        reply = self._reply(2 * self.settings.limit)
        if isinstance(reply, _Everywhere):
            results = [received(forked.Result("ok", value=file)) for file in reply.files]
            if any(case.timed_out for result in results for case in _cases(result)):
                self.failed_in = spec.exercise  # a process that was given up does not come back
                self.stop()
            return results
        self.failed_in = spec.exercise
        self.stop()
        mine = ProcessResult("hung")
        if isinstance(reply, _Alone):
            mine = received(forked.Result("ok", value=reply.file))
            if any(case.failure for case in _cases(mine)):
                return [mine]
        elif isinstance(reply, _Ended):
            mine = ProcessResult(reply.status, text=reply.text, seconds=self.settings.limit)
        return [mine if i == self.place.index else ProcessResult("hung") for i in range(self.place.processes)]

    def stop(self) -> None:
        """End the worker and whatever it left."""
        self._end(0)

    def _end(self, patience: float) -> int:
        """End the worker, only once; return its wait status."""
        if self._status is None:
            self._status = processes.end_child(self.pid, patience)
        return self._status

    def _reply(self, seconds: float) -> _Reply:
        """Return the worker's next reply, or the way in which it failed."""
        try:
            return decode(_Reply, self._replies.read(seconds))
        except TimeoutError:
            return _Ended("hung")
        except (json_lines.Garbled, Malformed):
            return _Ended("garbled")
        except EOFError:
            code = os.waitstatus_to_exitcode(self._end(GRACE))
            return _Ended("died", signal.Signals(-code).name if code < 0 else f"exit code {code}")

    def _serve(self, requests: int, replies: int) -> None:
        """In the child: join, agree on process 0's seed, then observe what is asked for until the parent ends."""
        faulthandler.disable()  # pytest's would write a crash's stack onto the terminal
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        environment.limit_collectives(os.environ, int(self.settings.limit))
        import jax

        from minipod.cluster import launch_arguments

        warnings.resetwarnings()
        if self.settings.machine:
            jax.config.update("jax_default_matmul_precision", "highest")
        else:
            jax.config.update("jax_platforms", "cpu")
            jax.config.update("jax_num_cpu_devices", self.specs[0].devices)
        jax.distributed.initialize(**launch_arguments())
        jax.devices()
        seed = _gather(json.dumps(self.settings.seed), 0, 60)[0]
        json_lines.write(replies, encode(_Joined(seed)))
        for turn, line in enumerate(json_lines.Reader(requests), 1):
            request = decode(_Request, line)
            target = Target(Path(request.path), request.names, request.source, request.oracle)
            result = observe.encoded(self.specs[request.spec], seed, target)
            try:
                everywhere = _Everywhere(tuple(_gather(json.dumps(result), turn, self.settings.limit)))
                json_lines.write(replies, encode(everywhere))
            except Exception:  # the other process is elsewhere
                json_lines.write(replies, encode(_Alone(result)))


def _cases(result: ProcessResult) -> list[Observation]:
    return [case for cases in result.file.functions.values() for case in cases or ()]


def _gather(mine: str, turn: int, seconds: float) -> list[Any]:
    """Return the data of each process, in order. Raises an error if a process does not come within `seconds`.

    The coordinator carries them: a collective might meet a collective of the answer in a different process.
    """
    import jax

    coordinator_store.put(f"lessons/{turn}/{jax.process_index()}", mine)
    return [json.loads(coordinator_store.get(f"lessons/{turn}/{i}", seconds)) for i in range(jax.process_count())]
