"""Decide which processes hang, are slow or are gone, from the latest report of each.

No duration mixes the clocks of two hosts: each process reports how long it has been in its current place, and the
watcher measures how long a process has been silent.
"""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from minipod.processes import identity
from minipod.processes.hang import suspended
from minipod.ranges import numbered
from minipod.watch.heartbeats import Beat, Place

LIMIT = 60.0  # seconds in which a process should go on; until its first step is done, twice as long
SILENT, DOUBTFUL = 10.0, 3.0  # heartbeats that have not come: it is silent; nobody can say yet for whom all wait
MISSED = 1.5  # heartbeats after which the kernel is asked: who still writes them has not ended
TIMES, MORE = 2.0, 0.02  # slow: so many times as long as the others, and so many seconds more
CLOCK = 2.0  # seconds that clocks may be apart


@dataclass(frozen=True)
class Finding:
    """A problem found in a running job.

    kind       silent, gone, hangs, slow or clock
    processes  processes that may be the cause
    sentence   a description of the problem
    open       True as long as the line at which the problem occurs is unknown
    """

    kind: str
    processes: tuple[int, ...]
    sentence: str
    open: bool = False


def judge(beats: list[Beat], limit: float = LIMIT) -> list[Finding]:
    """Return the problems of a job, the most serious first. limit: seconds that a step or a save may take."""
    who = _Names(beats)
    left = [b for b in beats if b.doing == "ended"]
    lost = {b.process: _lost(b) for b in beats if b not in left}
    quiet = [b for b in beats if lost.get(b.process)]
    alive = [b for b in beats if b not in left and b not in quiet]
    late = [b for b in alive if stands(b, limit)]
    findings = _quiet(who, quiet, lost, all_of=len(quiet) == len(beats))
    if late and (missing := sorted(set(range(beats[0].processes)) - {b.process for b in beats})):
        why = "no readable heartbeat in this folder"
        text = f"{numbered('process', missing)}: {why}"
        findings.append(Finding("gone", tuple(missing), text))
    if late:
        for b in left:
            last = "before its first step was done" if b.step_seconds is None else f"after step {b.done}"
            findings.append(Finding("gone", (b.process,), f"{who(b)} has ended {last}"))
    if late and all(b.silent < DOUBTFUL * b.every for b in alive):
        findings += _hangs(who, alive, late, blamed=bool(findings))
    return [*findings, *_slow(who, alive), *_clocks(who, beats)]


def stands(b: Beat, limit: float) -> bool:
    """Return whether a process has been in one place too long: `limit`, or twice that until its first step is done."""
    return b.seconds > limit * (1 if b.done else 2)


class _Names:
    """Names of processes: `process 3 on host1`, without the host if all are on one."""

    def __init__(self, beats: list[Beat]):
        self._several = len({b.host for b in beats}) > 1

    def __call__(self, beat: Beat) -> str:
        return f"process {beat.process}" + f" on {beat.host}" * self._several


def at(place: Place | None) -> str:
    """Format a place as ", at night.py:77 `losses.append(float(value))`"; "" if it is None."""
    if place is None:
        return ""
    source = place[2] if len(place[2]) <= 60 else place[2][:59] + "…"
    return f", at {place[0]}:{place[1]}" + f" `{source}`" * bool(source)


def _lost(b: Beat) -> tuple[str, str] | None:
    """Return (kind, reason) for a process that no longer reports; None for one that does.

    The kernel is asked only if the pid still means the same process: not in another container, nor after a restart.
    """
    if b.silent >= MISSED * b.every and b.namespace and b.namespace == identity.namespace():
        if not identity.exists(b.pid, b.started):
            return "gone", "ended without a message (killed?)"
        if how := suspended(b.pid):
            return "silent", how
    if b.silent >= SILENT * b.every:
        return "silent", f"silent for {b.silent:.0f} s"
    return None


def _quiet(who: "_Names", quiet: list[Beat], lost: dict[int, tuple[str, str] | None], all_of: bool) -> list[Finding]:
    reasons = [(*why, b) for b in quiet if (why := lost[b.process])]
    if all_of and len(reasons) > 1 and len({(kind, why.split()[0]) for kind, why, _ in reasons}) == 1:
        kind, why, first = reasons[0]
        text = (
            f"{_all(len(quiet))} processes: {why}; process {first.process} was last seen {_doing(first)}{at(first.at)}"
        )
        return [Finding(kind, tuple(b.process for b in quiet), text)]
    return [
        Finding(kind, (b.process,), f"{who(b)}: {why}; last seen {_doing(b)}{at(b.at)}") for kind, why, b in reasons
    ]


def _all(count: int) -> str:
    return "both" if count == 2 else f"all {count}"


def _doing(b: Beat) -> str:
    return {"start": "before the first step", "between": f"after step {b.step}"}.get(b.doing, f"in step {b.step}")


def _hangs(who: _Names, alive: list[Beat], late: list[Beat], blamed: bool) -> list[Finding]:
    """Find the processes that the others wait for: those outside JAX, else those elsewhere than most, else none."""
    outside = [b for b in late if not b.in_jax]
    waiting = [b for b in late if b.in_jax]
    if outside:
        wait = f"; {_others(waiting)}" if waiting else ""
        return [Finding("hangs", (b.process,), _stands(who, b) + wait) for b in outside]
    if blamed:
        return []
    groups: dict[tuple[int, Place | None], list[Beat]] = {}
    for b in alive:
        groups.setdefault((b.step, b.at), []).append(b)
    most, *rest = sorted(groups.values(), key=len, reverse=True)
    if not rest:
        text = f"in JAX, {_doing(most[0])} for {most[0].seconds:.0f} s{at(most[0].at)}"
        if len(alive) == 1:
            return [Finding("hangs", (alive[0].process,), f"{who(alive[0])} waits {text}")]
        text = f"{_all(len(alive))} processes wait {text}; the heartbeats do not show which process they wait for"
        return [Finding("hangs", (), text)]
    apart = [b for group in rest for b in group]
    if len(rest[0]) == len(most):
        apart = alive
    others = "" if apart is alive else f"; {_others(most)}"
    text = "; ".join(_stands(who, b) for b in apart)
    return [Finding("hangs", tuple(b.process for b in apart), text + others)]


def _stands(who: _Names, b: Beat) -> str:
    if b.doing in ("start", "between"):
        return f"{who(b)} has spent {b.seconds:.0f} s {_doing(b)}{at(b.at)}"
    return f"{who(b)} has been {_doing(b)} for {b.seconds:.0f} s{at(b.at)}"


def _others(waiting: list[Beat]) -> str:
    who = numbered("process", sorted(b.process for b in waiting))
    verb = "waits" if len(waiting) == 1 else "wait"
    first, *others = {f", {_doing(b)}{at(b.at)}" for b in waiting}
    return f"{who} {verb} in JAX{first if not others else ''}"


def _slow(who: _Names, alive: Iterable[Beat]) -> list[Finding]:
    computing = {b: b.own_seconds for b in alive if b.own_seconds is not None}
    if len(computing) < 2:
        return []
    last = max(computing, key=lambda b: computing[b])
    others = statistics.median(seconds for b, seconds in computing.items() if b is not last)
    if computing[last] <= TIMES * others + MORE:
        return []
    text = f"{who(last)} is slow: its own part of a step takes {computing[last]:.3f} s, the others' {others:.3f} s"
    text += f"; mostly{at(last.own_at)[1:]}" if last.own_at else ""
    return [Finding("slow", (last.process,), text, open=not last.own_at)]


def _clocks(who: _Names, beats: list[Beat]) -> list[Finding]:
    """Report hosts whose clocks differ from most; nothing here depends on them, but times in logs do."""
    usual = statistics.median_low(b.ahead for b in beats) if beats else 0.0
    apart = {b.host: b for b in reversed(beats) if abs(b.ahead - usual) > CLOCK}
    findings = []
    for host, b in apart.items():
        way = "ahead of" if b.ahead > usual else "behind"
        text = f"the clock of {host} is {abs(b.ahead - usual):.0f} s {way} the others': do not compare times in logs"
        findings.append(Finding("clock", (b.process,), text))
    return findings
