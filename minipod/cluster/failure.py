"""What went wrong first in a local cluster, in one sentence."""

import re
import signal
from dataclasses import dataclass
from pathlib import Path

from minipod.cluster.joins import wrong
from minipod.cluster.process import Member, source_line
from minipod.cluster.protocol import NO_DEBUGGER

# Errors that a process gets because *another* one is gone or never came; and what is dull in them.
_FROM_ANOTHER = re.compile(r"closed by peer|timed out|heartbeat|coordination|connection reset|connection refused", re.I)
_REFUSED = re.compile(r"(Unknown flags? in XLA_FLAGS: .+|Failed to parse XLA_FLAGS.*)")
_DULL = re.compile(r"^[A-Z_]{6,}: (?=\S)|\[external/\S+\] ")


@dataclass(frozen=True)
class Failure:
    """A sentence without a full stop, and the exit code for a shell."""

    sentence: str
    exit_code: int


def first_failure(members: list[Member], stuck: list[Member], limit: float | None) -> Failure | None:
    """What went wrong first, or None. `stuck` are those that had to be ended; `limit` is given when time ran out."""
    if apart := wrong(members):
        return Failure(apart, 1)
    bad = sorted((m for m in members if m.failed), key=lambda m: (_is_consequence(m), m.left_at))
    if bad and not (limit and _is_consequence(bad[0])):
        code = bad[0].code
        sentence = _end(bad[0], members) + _cause(bad[0], members) + _others(bad[0], stuck)
        return Failure(sentence, code if code > 0 else 128 - code)
    if limit is not None:
        return Failure(f"still running after {limit:g} s: " + ", ".join(_state(m) for m in members), 124)
    if any(m.working for m in stuck):
        gone = sorted((m for m in members if not m.working), key=lambda m: m.left_at)[0]
        waiting = " and ".join(_state(m, "is still") for m in stuck if m.working)
        return Failure(f"process {gone.index} finished while {waiting}; all have been ended", 1)
    return None


def _is_consequence(member: Member) -> bool:
    """Whether its bad end is one that a process meets because another is gone."""
    if "raised" in member.report:
        return bool(_FROM_ANOTHER.search(member.report["message"])) and member.report["raised"] != "TimeoutError"
    return member.code == -signal.SIGABRT


def _end(first: Member, members: list[Member]) -> str:
    name, report = f"process {first.index}", first.report
    if "raised" in report:
        if len(members) > 1 and all(_error(m) == _error(first) for m in members):
            name = "both processes" if len(members) == 2 else f"all {len(members)} processes"
        message = _DULL.sub("", " ".join(report["message"].split()))
        message = message if len(message) <= 160 else message[:160].rpartition(" ")[0] + " …"
        at = f", at {report['at']}" if report["at"] else ""
        message = message or NO_DEBUGGER * (report["raised"] == "BdbQuit")
        return f"{name} raised {report['raised']}" + f": {message}" * bool(message) + at
    if first.code == -signal.SIGABRT:
        return f"{name} aborted (SIGABRT)" + _complaint(first)
    if first.code < 0:
        return f"{name} was killed by {signal.Signals(-first.code).name}"
    return f"{name} ended with exit status {first.code}" + _complaint(first)


def _complaint(first: Member) -> str:
    """XLA's own words, when it refused a setting of the environment and ended the process."""
    said = next((m[1] for line in first.lines if (m := _REFUSED.search(line))), "")
    return f": {said[:160]}, which this environment sets" if said else ""


def _error(member: Member) -> tuple[str | None, str | None]:
    return member.report.get("raised"), member.report.get("at")


def _cause(first: Member, members: list[Member]) -> str:
    """Who was gone before, when the failure is one that follows from it."""
    if not _is_consequence(first):
        return ""
    if frozen := [m for m in members if m.suspended()]:
        return f", because process {frozen[0].index} is suspended (SIGSTOP)"
    # Half a second, since the other's error may come before we see the process itself gone.
    gone = [m for m in members if not m.failed and not m.working and m.left_at < first.left_at + 0.5]
    return f", after process {gone[0].index} had finished" if gone else ""


def _others(first: Member, stuck: list[Member]) -> str:
    others = [m for m in stuck if m is not first and m.working]
    if not others:
        return ""
    have = "has" if len(others) == 1 else "have"
    return "; " + ", ".join(_state(m, "was") for m in others) + f" and {have} been ended"


def _state(member: Member, tense: str = "is") -> str:
    """What it does at this moment: «process 0 is waiting in `y.block_until_ready()` (step.py:14)»."""
    name = f"process {member.index}"
    if not member.working:
        return f"{name} has finished"
    if member.suspended():
        return f"{name} {tense} suspended (SIGSTOP)"
    doing = f"{name} {tense} {'waiting' if member.hung or member.idle_for() > 1 else 'busy'}"
    if not (where := member.where()):
        return doing
    file, line = where
    source = source_line(file, line)
    source = source if len(source) <= 60 else source[:59] + "…"
    return f"{doing} in `{source}` ({Path(file).name}:{line})"
