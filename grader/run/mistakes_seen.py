"""Observe the known mistakes in children, when an answer is wrong, or earlier if there is time."""

import contextlib
import enum
import hashlib
import json
from collections.abc import Callable, Generator
from functools import partial

from grader.exercise.spec import Settings, Spec
from grader.files import write_private
from grader.judge.mistakes import Results, known_mistakes
from grader.see import observe
from grader.see.observation import ProcessResult, received
from grader.see.observe import Target
from minipod import forked

LIMIT, PATIENCE = 8.0, 3.0  # seconds for one mistake, and for one of its processes after another: enough to see it hang


class Pace(enum.Enum):
    """The speed of a mistake, as far as it is known."""

    QUICK, SLOW, UNKNOWN = enum.auto(), enum.auto(), enum.auto()


def is_slow(results: Results) -> bool:
    """Return whether a process failed or waited in vain: such a mistake takes seconds and needs its own process."""
    for result in results:
        cases = [case for cases_of in result.file.functions.values() for case in cases_of or ()]
        if result.status != "ok" or any(case.timed_out for case in cases):
            return True
    return False


def look(spec: Spec, settings: Settings, results: dict[str, Results], slow: bool) -> Generator[str, None, None]:
    """Add the observations of the mistakes to `results`, known ones first; yield the name of each.

    Quick ones share two children or pairs. A slow one has its own and, in a cluster, is run only if the answer is slow.
    The slow ones are recorded in .cache/; in a single process, all count as quick until one fails.

    slow  whether the answer is slow
    """
    names = known_mistakes(spec)
    if not settings.fork:
        for name in names:
            results[name] = results.get(name) or [_here(spec, settings, name)]
            yield name
        return
    if not names:
        return
    notes = Notes(spec)
    left = [name for name in names if name not in results]
    quick = [] if slow and spec.processes > 1 else _quick(spec, notes, left)
    _see_together(spec, settings, quick, results)
    yield from [name for name in names if name in results]
    wanted = {Pace.UNKNOWN, Pace.SLOW} if slow else {Pace.UNKNOWN}
    alone = [n for n in left if n not in results and (n in quick or notes.pace(n) in wanted)]
    yield from _see_alone(spec, settings, alone, results, settings.limit if settings.machine else LIMIT)
    if slow:  # it may have failed on an edge alone, and do elsewhere what a quick one does
        _see_together(spec, settings, [n for n in _quick(spec, notes, names) if n not in results], results)


def see_quick(spec: Spec, settings: Settings, results: dict[str, Results]) -> None:
    """Add the observations of the quick mistakes to `results`, before there is an answer that may be one of them."""
    if left := [name for name in known_mistakes(spec) if name not in results]:
        _see_together(spec, settings, _quick(spec, Notes(spec), left), results)


def see_all(spec: Spec, settings: Settings, results: dict[str, Results]) -> None:
    """Add the observations of all mistakes to `results`, including slow ones; each has as long as an answer."""
    see_quick(spec, settings, results)
    if left := [name for name in known_mistakes(spec) if name not in results]:
        for _ in _see_alone(spec, settings, left, results, settings.limit):
            pass


def _quick(spec: Spec, notes: "Notes", names: list[str]) -> list[str]:
    """Return the mistakes that may share a child: in a cluster only quick ones, since a slow one holds up two."""
    paces = {Pace.QUICK} if spec.processes > 1 else {Pace.QUICK, Pace.UNKNOWN}
    return [name for name in names if notes.pace(name) in paces]


def _see_alone(
    spec: Spec, settings: Settings, names: list[str], results: dict[str, Results], limit: float
) -> Generator[str, None, None]:
    """Add the observation of each of these to `results`, made in children of its own; record which are slow."""
    notes, jobs = Notes(spec), list[forked.Job]()
    try:
        for n, name in enumerate(names):
            ahead = 1 if settings.machine else 2  # one process at a time has a machine's own devices
            while len(jobs) < min(n + ahead, len(names)):
                task = _task(spec, settings, [names[len(jobs)]])
                devices = settings.devices(spec)
                jobs.append(forked.start(task, spec.processes, devices, limit, settings.memory, PATIENCE))
            results[name] = [received(result) for result in forked.wait(jobs[n])]
            notes.add(name, is_slow(results[name]))
            yield name
    finally:  # the one ahead, when a match was found before
        for job in jobs:
            forked.stop(job)


def _see_together(spec: Spec, settings: Settings, names: list[str], known: dict[str, Results]) -> None:
    """Add their observations to `known`, half of them from each of two children, unless one crashes its child."""
    limit, halves = max(LIMIT, settings.limit), [half for half in (names[::2], names[1::2]) if half]
    devices = settings.devices(spec)

    def start(half: list[str]) -> forked.Job:
        return forked.start(_task(spec, settings, half), spec.processes, devices, limit, settings.memory)

    at_once = [start(half) for half in halves] if devices else []  # a machine's own have one process at a time
    for n, half in enumerate(halves):
        results = [received(result) for result in forked.wait(at_once[n] if at_once else start(half))]
        if all(result.status == "ok" for result in results):
            known.update(dict.fromkeys(half, results))


def _task(spec: Spec, settings: Settings, names: list[str]) -> Callable[[], object]:
    return partial(observe.encoded, spec, settings.seed, Target(spec.folder / "mistakes.py", names))


def _here(spec: Spec, settings: Settings, name: str) -> ProcessResult:
    """Observe the mistakes in this process, without a fork, for debuggers."""
    target = Target(spec.folder / "mistakes.py", [name])
    return ProcessResult("ok", observe.observe_file(spec, settings.seed, target))


class Notes:
    """A record of an exercise's slow mistakes, kept from run to run until mistakes.py changes.

    A mistake counts as slow after two observations: on a busy machine anything may once take too long.
    """

    def __init__(self, spec: Spec) -> None:
        mistakes = (spec.folder / "mistakes.py").read_bytes()
        self.path = spec.root / ".cache" / "mistakes" / f"{spec.exercise}.json"
        self.key = hashlib.sha256(mistakes).hexdigest()[:16]
        self.times: dict[str, int] = {}  # in a row that each was seen to be slow
        try:
            noted = json.loads(self.path.read_text(encoding="utf-8"))
            self.times |= noted["times"] if noted["key"] == self.key else {}
        except (OSError, ValueError, KeyError, TypeError):
            pass

    def pace(self, name: str) -> Pace:
        """Return the speed of a mistake; one slow observation is not enough to call it slow."""
        return {0: Pace.QUICK, 2: Pace.SLOW}.get(self.times.get(name, 1), Pace.UNKNOWN)

    def add(self, name: str, slow: bool) -> None:
        times = min(self.times.get(name, 0) + 1, 2) if slow else 0
        if self.times.get(name) == times:
            return
        self.times[name] = times
        with contextlib.suppress(OSError):  # a project that cannot be written to: then nothing is remembered
            write_private(self.path, json.dumps({"key": self.key, "times": self.times}).encode())
