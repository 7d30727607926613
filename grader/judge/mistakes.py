"""Which known mistake behaves like a wrong answer? Asked once an answer is wrong; seen before, where there is time."""

import contextlib
import functools
import hashlib
import json
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from grader.exercise import answers
from grader.exercise.spec import Settings, Spec
from grader.files import write_private
from grader.judge.alike import Agreement, agreement, same_behaviour
from grader.judge.verdict import Seen, Verdict, judge
from grader.see import observe
from grader.see.observation import ProcessResult, received
from grader.see.observe import Target
from minipod import forked

LIMIT, PATIENCE = 8.0, 3.0  # seconds for one mistake, and for one of its processes after another: enough to see it hang

Results = list[ProcessResult]


@dataclass(frozen=True)
class Recognised:
    """The mistake behind a wrong answer.

    certain  whether both did the same on every case
    cases    else those on which they did the same, and were wrong
    """

    name: str
    certain: bool
    cases: frozenset[int] = frozenset()


def recognise(
    spec: Spec, settings: Settings, right: Seen, answer: Results, file: str, seen: dict[str, Results] | None = None
) -> Recognised | None:
    """The first function of mistakes.py that does on every case what the answer does, and is itself not right.

    Where there is none, the only one that does the same as far as the cases tell: see `_likely`.

    file  where the answer stands
    seen  what was seen of mistakes on this seed before; what this call sees is added
    """
    path = spec.folder / "mistakes.py"
    if not path.exists():
        return None
    names = known_mistakes(spec)
    seen = {} if seen is None else seen

    @functools.cache
    def mistaken(name: str) -> Verdict:
        return judge(spec, Verdict(spec.exercise, ""), right, seen[name], name, first=True)

    def matches(name: str, exact: bool) -> bool:
        if mistaken(name).outcome == "right":
            return False
        both = (answer, spec.name, file), (seen[name], name, str(path))
        return same_behaviour(spec, *both, exact, by_value=mistaken(name).reason == "differs")

    with contextlib.closing(_see(spec, settings, names, seen, is_slow(answer))) as found:
        for name, results in found:
            seen[name] = results
            if matches(name, exact=True):
                return Recognised(name, certain=True)
    # a second spelling may send the same by other means, or meet the same error on another way
    if name := next((name for name in names if name in seen and matches(name, exact=False)), None):
        return Recognised(name, certain=True)
    return _likely(
        {name: agreement(spec, right, answer, (seen[name], name, str(path))) for name in names if name in seen}
    )


MOST = 2  # an edge, a rounding: so many times as many cases have to agree as do not


def _likely(found: dict[str, Agreement | None]) -> Recognised | None:
    """The mistake that an answer agrees with wherever neither raises, or nearly; None where two would do as well.

    Of mistakes that differ only in how they end on an edge, as their names tell (`mean`, `mean_nan`), it is the first.
    """
    agreeing = {name: a for name, a in found.items() if a and a.alike and _agrees(a)}
    if whole := {name: a for name, a in agreeing.items() if not a.apart}:
        agreeing = whole
    most = max((len(a.alike) - len(a.apart) for a in agreeing.values()), default=0)
    best = [name for name, a in agreeing.items() if len(a.alike) - len(a.apart) == most]
    if not best or any(not name.startswith(best[0]) for name in best):
        return None
    return Recognised(best[0], certain=False, cases=agreeing[best[0]].alike)


def known_mistakes(spec: Spec) -> list[str]:
    """The exercise's functions in mistakes.py, in order."""
    path = spec.folder / "mistakes.py"
    return [name for name in _functions(path, path.stat().st_mtime_ns) if name.startswith(spec.name + "__")]


@functools.cache  # asked for every wrong answer
def _functions(path: Path, _changed: int) -> list[str]:
    return list(answers.read(path).functions)


def is_slow(results: Results) -> bool:
    """Whether a process ended badly or waited in vain: such a behaviour takes seconds, and may not share a process."""
    for result in results:
        cases = [case for seen in result.file.functions.values() for case in seen or ()]
        if result.status != "ok" or any(case.timed_out for case in cases):
            return True
    return False


def _see(
    spec: Spec, settings: Settings, names: list[str], seen: dict[str, Results], slow: bool
) -> Generator[tuple[str, Results], None, None]:
    """What the mistakes do, those first that have been seen before.

    Quick ones share two children or pairs; a slow one has its own, and in a cluster only a slow answer asks for it.
    Which are slow is noted in .cache/; in one process all are taken for quick until one fails.
    """
    if not settings.fork:
        for name in names:
            seen[name] = seen.get(name) or [_here(spec, settings, name)]
            yield name, seen[name]
        return
    notes = _Notes(spec)
    left = [name for name in names if name not in seen]
    quick = [] if slow and spec.processes > 1 else _quick(spec, notes, left)
    _see_together(spec, settings, quick, seen)
    yield from ((name, seen[name]) for name in names if name in seen)
    alone = [n for n in left if n not in seen and (n in quick or notes.says(n) is None or (slow and notes.says(n)))]
    yield from _see_alone(spec, settings, alone, notes, settings.limit if settings.machine else LIMIT)
    if slow:  # it may have failed on an edge alone, and do elsewhere what a quick one does
        _see_together(spec, settings, [n for n in _quick(spec, notes, names) if n not in seen], seen)


def _see_alone(
    spec: Spec, settings: Settings, names: list[str], notes: "_Notes", limit: float
) -> Generator[tuple[str, Results], None, None]:
    """What each of these does in children of its own; which are slow is noted."""
    jobs: list[forked.Job] = []
    try:
        for n, name in enumerate(names):
            ahead = 1 if settings.machine else 2  # one process at a time has a machine's own devices
            while len(jobs) < min(n + ahead, len(names)):
                look = _look(spec, settings, [names[len(jobs)]])
                devices = settings.devices(spec)
                jobs.append(forked.start(look, spec.processes, devices, limit, settings.memory, PATIENCE))
            results = [received(result) for result in forked.wait(jobs[n])]
            notes.add(name, is_slow(results))
            yield name, results
    finally:  # the one ahead, when a match was found before
        for job in jobs:
            forked.stop(job)


def see_quick(spec: Spec, settings: Settings, seen: dict[str, Results]) -> None:
    """Add to `seen` what the quick mistakes do, before there is an answer that may be one of them."""
    if (spec.folder / "mistakes.py").exists():
        left = [name for name in known_mistakes(spec) if name not in seen]
        _see_together(spec, settings, _quick(spec, _Notes(spec), left), seen)


def see_all(spec: Spec, settings: Settings, seen: dict[str, Results]) -> None:
    """Add to `seen` what every mistake does, the slow ones, too; each has the time that an answer has."""
    see_quick(spec, settings, seen)
    left = [name for name in known_mistakes(spec) if name not in seen]
    seen.update(_see_alone(spec, settings, left, _Notes(spec), settings.limit))


def _quick(spec: Spec, notes: "_Notes", names: list[str]) -> list[str]:
    several = spec.processes > 1
    return [n for n in names if notes.says(n) is False or not (several or notes.says(n))]


def _see_together(spec: Spec, settings: Settings, names: list[str], seen: dict[str, Results]) -> None:
    """Add to `seen` what these do, half of them in each of two children, unless one brings its child down."""
    limit, halves = max(LIMIT, settings.limit), [half for half in (names[::2], names[1::2]) if half]
    devices = settings.devices(spec)

    def start(half: list[str]) -> forked.Job:
        return forked.start(_look(spec, settings, half), spec.processes, devices, limit, settings.memory)

    at_once = [start(half) for half in halves] if devices else []  # a machine's own have one process at a time
    for n, half in enumerate(halves):
        results = [received(result) for result in forked.wait(at_once[n] if at_once else start(half))]
        if all(result.status == "ok" for result in results):
            seen.update(dict.fromkeys(half, results))


def _look(spec: Spec, settings: Settings, names: list[str]) -> Callable[[], object]:
    return partial(observe.encoded, spec, settings.seed, Target(spec.folder / "mistakes.py", names))


def _here(spec: Spec, settings: Settings, name: str) -> ProcessResult:
    """Without a fork, for debuggers: in this very process."""
    target = Target(spec.folder / "mistakes.py", [name])
    return ProcessResult("ok", observe.observe_file(spec, settings.seed, target))


def _agrees(found: Agreement) -> bool:
    most = MOST * len(found.apart) <= len(found.alike)
    return not found.apart or (found.telling and most)


class _Notes:
    """Which mistakes of an exercise are slow, kept from run to run while mistakes.py stays as it is.

    Twice has to be seen what is believed to be slow: on a busy machine anything may once take too long.
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

    def says(self, name: str) -> bool | None:
        """Whether the mistake is slow; None when that is not known."""
        times = self.times.get(name)
        return None if times in (None, 1) else times == 2

    def add(self, name: str, slow: bool) -> None:
        times = min(self.times.get(name, 0) + 1, 2) if slow else 0
        if self.times.get(name) == times:
            return
        self.times[name] = times
        with contextlib.suppress(OSError):  # a project that cannot be written to: then nothing is remembered
            write_private(self.path, json.dumps({"key": self.key, "times": self.times}).encode())
