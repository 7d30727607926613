"""Which known mistake behaves like a wrong answer? Asked once an answer is wrong; seen before, where there is time."""

import contextlib
import functools
import hashlib
import json
import os
import re
from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path

from grader.exercise import answers
from grader.exercise.spec import Settings, Spec
from grader.judge.verdict import Seen, Verdict, judge, over_budget
from grader.see import observe
from grader.see.compare import LEFT_ALONE, difference, masked, placement
from grader.see.observation import Failure, Observation, ProcessResult, Traffic, received
from grader.see.observe import Target
from minipod import forked

# Faults that JAX reports in several ways, by type of mesh or by which of its layers finds them first.
FAULTS = {
    "a collective was left alone": LEFT_ALONE,
    "does not divide evenly": re.compile(r"implies that array axis \d+ is partitioned \d+ times"),
}
LIMIT, PATIENCE = 8.0, 3.0  # seconds for one mistake, and for one of its processes after another: enough to see it hang

Results = list[ProcessResult]


def recognise(
    spec: Spec, settings: Settings, right: Seen, answer: Results, file: str, seen: dict[str, Results] | None = None
) -> str | None:
    """The first function of mistakes.py that does on every case what the answer does, and is itself not right.

    file  where the answer stands
    seen  what was seen of mistakes on this seed before; what this call sees is added
    """
    path = spec.folder / "mistakes.py"
    if not path.exists():
        return None
    names = known_mistakes(spec)
    seen = {} if seen is None else seen

    def matches(name: str, exact: bool) -> bool:
        mistaken = judge(spec, Verdict(spec.exercise, ""), right, seen[name], name)
        by_value = mistaken.reason == "differs"
        both = (answer, spec.name, file), (seen[name], name, str(path))
        return mistaken.outcome != "right" and same_behaviour(spec, *both, exact, by_value)

    with contextlib.closing(_see(spec, settings, names, seen, is_slow(answer))) as found:
        for name, results in found:
            seen[name] = results
            if matches(name, exact=True):
                return name
    # a second spelling may send the same by other means, or meet the same error on another way
    return next((name for name in names if name in seen and matches(name, exact=False)), None)


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
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            fresh = self.path.with_suffix(f".{os.getpid()}")
            fresh.write_text(json.dumps({"key": self.key, "times": self.times}), encoding="utf-8")
            os.replace(fresh, self.path)
        except OSError:
            pass  # a project that cannot be written to: then nothing is remembered


Function = tuple[Results, str, str]  # what was seen of a function, its name, its file


def same_behaviour(spec: Spec, one: Function, other: Function, exact: bool = True, by_value: bool = False) -> bool:
    """Whether two functions did the same on every case, in every process.

    exact  also by the same collectives, not only the same bytes; and waiting or failing in the same call of JAX
    by_value  it is their values that are wrong: if not exact, they may break their budgets in different ways
    """
    (ours, name, file), (theirs, other_name, other_file) = one, other
    if len(ours) != len(theirs):  # of a lost cluster only this process's part is known
        return False
    for a, b in zip(ours, theirs, strict=True):
        if a.status != b.status:
            return False
        if a.status == "hung" and exact and waits_in(a.text, file) != waits_in(b.text, other_file):
            return False
        if a.status != "ok":
            continue
        mine, its = a.cases(name), b.cases(other_name)
        if mine is None or its is None:
            return False
        if not all(_same_case(spec, x, y, name, other_name, exact) for x, y in zip(mine, its, strict=True)):
            return False
        if (exact or not by_value) and list(map(_over, mine)) != list(map(_over, its)):
            return False
    return True


_FRAME = re.compile(r'File "([^"]+)", line \d+ in (\S+)')


def waits_in(stack: str, file: str) -> str:
    """In which call an answer waits, from faulthandler's traceback: the outermost frame that is not the answer's own.

    "itself" when the innermost frame is the answer's own; "" when the answer is not in the stack.
    """
    call = "itself"
    for path, name in _FRAME.findall(stack):  # innermost first
        if path == file:
            return call
        call = name
    return ""


def _same_case(spec: Spec, a: Observation, b: Observation, name: str, other_name: str, exact: bool) -> bool:
    if a.failure and b.failure:
        if exact and a.failure.into != b.failure.into:
            return False
        return _behaviour(a.failure, name) == _behaviour(b.failure, other_name)
    if a.value is None or b.value is None:
        return False
    aspects = set(spec.compare)
    if aspects & {"value", "placement"} and difference(a.value, b.value, spec.tolerance):
        return False
    if "placement" in aspects and (placement(a.value, b.value) or placement(b.value, a.value)):
        return False
    if "printed" in aspects and a.printed != b.printed:
        return False
    if exact and (a.leaves_devices, a.changed) != (b.leaves_devices, b.changed):
        return False
    if exact and spec.budget is not None:
        return _bill(a) == _bill(b)
    return spec.budget is None or _total(a) == _total(b)


def _behaviour(error: Failure, name: str) -> tuple[str, str]:
    text = error.text.replace(name, "<the exercise>")
    for fault, words in FAULTS.items():
        if words.search(text):
            return "fault", fault
    return error.type, masked(text)


def _bill(case: Observation) -> object:
    traffic = case.traffic
    return (sorted(map(str, traffic.transfers)), traffic.along) if isinstance(traffic, Traffic) else None


def _total(case: Observation) -> object:
    traffic = case.traffic
    return ({t.op for t in traffic.transfers}, traffic.total, traffic.along) if isinstance(traffic, Traffic) else None


def _over(case: Observation) -> str:
    """What of its budget the program breaks first, as a key of messages.toml."""
    over = over_budget(case)
    return over.key if over else ""
