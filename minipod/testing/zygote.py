"""Fork a cluster for each test that asks for one, from a process with all tests collected and no device started.

pytest's own process may start JAX meanwhile, as a test without a marker does; after that, its children could have no
devices. If a module starts JAX while it is imported, the tests of other modules are collected again, each file in a
process that has imported nothing else: see Early.
"""

import contextlib
import os
import shutil
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from minipod import devices, forked, processes
from minipod.processes import json_lines
from minipod.processes.supervisor import keep_only_files
from minipod.testing import in_process
from minipod.testing.markers import Wanted

if TYPE_CHECKING:
    from minipod.hosts.namespaces import Members

STARTED, ENDED, NO_HOSTS = "started", "ended", "no hosts: "
GIVE_UP = "give up"  # said in place of a test's name
WHY = "why"  # said in place of a question's number, before the process ends because of an error
ENDING = 10.0  # seconds to end a test that was given up, and to say where its processes were
COUNT = "--xla_force_host_platform_device_count"
ONCE_MORE = "a test must have the same name each time"


class Lost(RuntimeError):
    """Raised if the zygote has ended, or if its answer cannot be understood."""


class GivenUp(RuntimeError):
    """Raised if something else, such as pytest-timeout, raises during the wait for an answer. results: so far."""

    def __init__(self, why: str, results: Any):
        super().__init__(why)
        self.results = results


Tests = dict[str, tuple[pytest.Item, Wanted]]  # by node id
_running: list[forked.Job] = []  # the last one


class Zygote:
    """The zygote as pytest's process sees it: asked for a test, it returns the outcome of each process."""

    _asked = 0  # how many questions: an answer has its question's number
    _why = ""  # the error that has ended the process, if it could say so

    def __init__(self, tests: Tests):
        self._begin(partial(_serve, tests))

    def _begin(self, serve: Callable[[int, int], None]) -> None:
        """Fork a process that serves; it ends when pytest's process does, whatever it is doing."""
        ours, theirs = os.pipe()
        asks, answers = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self._pid = processes.fork(signal.SIGTERM)
        if self._pid == 0:
            try:
                signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # ends what it has started before it goes
                _let_go(asks, theirs)
                serve(asks, theirs)
            except BaseException as error:
                forked.stop_all()
                with contextlib.suppress(OSError):
                    json_lines.write(theirs, [WHY, f": {type(error).__name__}: {error}"])
            finally:
                os._exit(0)
        os.close(theirs)
        os.close(asks)
        self._to, self._from = answers, json_lines.Reader(ours)
        self._ends = (ours, answers)

    def ask(self, item: pytest.Item, seconds: float) -> list[forked.Result] | str:
        """Run a test and return the result of each process, or a text if that is impossible.

        The text is STARTED if JAX had devices before the fork; NO_HOSTS and the reason if this machine cannot make the
        hosts that the test wants; or another reason. Raises Lost, at the latest after `seconds`, or GivenUp.
        """
        return _results(self._answer(item.nodeid, seconds))

    def _answer(self, question: str | None, seconds: float) -> Any:
        self._asked += 1
        try:
            return self._awaited(question, seconds)
        except (KeyboardInterrupt, SystemExit, pytest.exit.Exception, Lost):
            raise
        except BaseException as error:  # whatever an alarm raises
            answer = None
            with contextlib.suppress(Lost):
                answer = self._awaited(GIVE_UP, ENDING)
            raise GivenUp(str(error) or type(error).__name__, _results(answer)) from None

    def _awaited(self, question: str | None, seconds: float) -> Any:
        """Send a question, or GIVE_UP, which cancels the last; return the answer to the last."""
        try:
            json_lines.write(self._to, [self._asked, question])
            while True:
                number, answer = self._from.read(seconds)
                if number == WHY:
                    self._why = answer
                if number in (self._asked, None):  # else to an earlier question, which had been given up
                    return answer
        except (OSError, EOFError) as error:  # TimeoutError is an OSError
            what = "does not answer" if isinstance(error, TimeoutError) else "has ended"
            raise Lost(f"the process that starts the tests {what}{self._why or f' ({error})'}") from None
        except json_lines.Garbled as error:
            raise Lost(f"the process that starts the tests gave an unreadable answer: {error}") from None

    def close(self) -> None:
        """End the zygote and everything that it has started."""
        for end in self._ends:
            with contextlib.suppress(OSError):
                os.close(end)
        with contextlib.suppress(ChildProcessError):
            processes.end_child(self._pid, patience=2.0)


class Early(Zygote):
    """A zygote forked before any test is collected; it collects each test's file in a separate process.

    No other test module has been imported there, so none can have started JAX.
    """

    def __init__(self, session: pytest.Session):
        self._file: str | None = None
        self._begin(partial(_serve_files, session))

    def ask(self, item: pytest.Item, seconds: float) -> list[forked.Result] | str:
        file = str(item.path)
        answer = file if file == self._file else self._turn_to(file, seconds)
        if answer != ENDED:
            answer = super().ask(item, seconds)
        if answer == ENDED:
            self._file = None
            why, self._why = self._why, ""
            raise Lost(f"the process that collected {item.path.name} again has ended{why}")
        return answer

    def _turn_to(self, file: str, seconds: float) -> str:
        if self._file is not None:
            self._file = None
            self._answer(None, seconds)
        self._file = file
        return self._answer(file, seconds)


def _results(answer: Any) -> Any:
    """Return the results in an answer, or else the answer, which says why there are none."""
    return [forked.Result(**result) for result in answer] if isinstance(answer, list) else answer


def _serve(tests: Tests, asks: int, answers: int, lacking: str = "") -> None:
    """Run each test that is named and answer with its outcome, until None is named. lacking: why one may be missing."""
    reader = json_lines.Reader(asks)
    early: list[Any] = []

    def look() -> None:
        with contextlib.suppress(TimeoutError):
            early.append(reader.read(0))  # EOFError where pytest has ended
            for job in _running:
                job.deadline = 0.0  # nobody awaits this one any longer

    forked.on_turn.append(look)
    while True:
        number, name = early.pop(0) if early else reader.read()
        if name is None:
            return
        if name != GIVE_UP:
            known = tests.get(name)
            answer = (
                _run(*known)
                if known
                else f"{name} was not found when its file was collected again: {lacking or ONCE_MORE}"
            )
            json_lines.write(answers, [number, answer])


def _serve_files(session: pytest.Session, asks: int, answers: int) -> None:
    """For each file named, fork a process that serves its tests, until None; answer ENDED when one has gone."""
    for number, file in json_lines.Reader(asks):
        if file == GIVE_UP:
            continue
        pid = processes.fork(signal.SIGTERM)
        if pid == 0:
            tests, error = in_process.collected(session, file)
            json_lines.write(answers, [number, file])
            return _serve(tests, asks, answers, error)
        os.waitpid(pid, 0)
        json_lines.write(answers, [None, ENDED])  # to whatever was asked


def _let_go(*keep: int) -> None:
    """Release pytest's terminal, and the pipes, sockets and locks of its plug-ins; their files stay open."""
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    keep_only_files(*keep)


def _run(item: pytest.Item, asked: Wanted) -> list[dict[str, Any]] | str:
    import jax  # noqa: F401  once, here: each child has it then

    if devices.have_started():
        return STARTED
    flags = os.environ.get("XLA_FLAGS", "").split()
    os.environ["XLA_FLAGS"] = " ".join(flag for flag in flags if not flag.startswith(COUNT))
    folder = _folder(item)
    shared = folder / "shared"
    shared.mkdir()
    filters = [*warnings.filters]
    try:
        with _places(asked) as places:
            job = forked.start(
                lambda: in_process.run(item, asked, shared, filters),
                asked.processes,
                asked.devices,
                asked.seconds,
                asked.memory,
                asked.patience,
                collective=int(asked.seconds) + 1,
                grace=asked.grace,
                places=places,
                files=True,
            )
            _running[:] = [job]
            results = [asdict(result) for result in forked.wait(job)]
        for process, result in enumerate(results):
            if (shared / f"struck{process}").exists() and result["status"] in ("died", "hung", "left"):
                result["status"] = "struck"
        return results
    except PermissionError as error:
        if not asked.hosts:
            raise
        return f"{NO_HOSTS}{error}"
    finally:
        if not any(folder.glob("process*/*")) and not any(shared.iterdir()):
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _places(asked: Wanted) -> Iterator["Members | None"]:
    """Make the hosts that a test wants, for the block. PermissionError, in one sentence, if that is impossible."""
    if not asked.hosts:
        yield None
        return
    from minipod.hosts import namespaces

    with namespaces.hosts(asked.hosts, asked.rate, asked.delay) as pids:
        yield namespaces.Members(pids, asked.processes)


def _folder(item: pytest.Item) -> Path:
    """Make a new folder for one run of a test, below pytest's folder for the run or, without one, the system's."""
    temporary = getattr(item.config, "_tmp_path_factory", None)
    base = temporary.getbasetemp() if temporary else None
    return Path(tempfile.mkdtemp(prefix=f"{item.name[:20].replace(os.sep, '_')}-", dir=base))
