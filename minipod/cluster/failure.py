"""Name the first failure of a local cluster in one sentence."""

import os
import re
import signal
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from minipod.cluster.process import Member, source_line
from minipod.cluster.protocol import NO_DEBUGGER

# Errors that a process gets because *another* one is gone or never came; and what is dull in them.
_FROM_ANOTHER = re.compile(r"closed by peer|timed out|heartbeat|coordination|connection reset|connection refused", re.I)
_REFUSED = re.compile(r"(Unknown flags? in XLA_FLAGS: .+|Failed to parse XLA_FLAGS.*)")
_DULL = re.compile(r"^[A-Z_]{6,}: (?=\S)|\[external/\S+\] ")


@dataclass(frozen=True)
class Failure:
    """A failure: a sentence without a full stop, and the exit code for a shell."""

    sentence: str
    exit_code: int


def first_failure(members: list[Member], stuck: list[Member], limit: float | None) -> Failure | None:
    """Return the first failure, or None. stuck: processes that had to be ended. limit: seconds, if it was reached."""
    if apart := cannot_meet(members):
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
    """Return whether the process failed only because another one was gone."""
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
    """Return XLA's own message if it refused a setting of the environment and ended the process."""
    complaint = next((m[1] for line in first.lines if (m := _REFUSED.search(line))), "")
    ours = any(flag in complaint for flag in os.environ.get("XLA_FLAGS", "").split())
    return f": {complaint[:160]}" * bool(complaint) + ", which this environment sets" * ours


def _error(member: Member) -> tuple[str | None, str | None]:
    return member.report.get("raised"), member.report.get("at")


def _cause(first: Member, members: list[Member]) -> str:
    """Name the processes that were gone before, if the failure follows from that."""
    if not _is_consequence(first):
        return ""
    if frozen := [m for m in members if m.suspended()]:
        return f", because process {frozen[0].index} is {frozen[0].suspended()}"
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
    """Describe what a process does at this moment: "process 0 is waiting in `y.block_until_ready()` (step.py:14)"."""
    name = f"process {member.index}"
    if not member.working:
        finished = "finished, but does not exit" if member.running else "finished"
        return f"{name} has {'failed' if member.failed else finished}"
    if how := member.suspended():
        return f"{name} {tense} {how}"
    doing = f"{name} {tense} {'waiting' if member.waits() else 'busy'}"
    if not (where := member.where()):
        return doing
    file, line = where
    source = source_line(file, line)
    source = source if len(source) <= 60 else source[:59] + "…"
    return f"{doing} in `{source}` ({Path(file).name}:{line})"


def cannot_meet(members: list[Member]) -> str | None:
    """Return, in words, why the processes that have joined can never all meet; None if nothing prevents it."""
    groups = _by_port(members)
    reason = next(filter(None, map(_twice, groups)), None)
    if reason is None and all(m.working and m.report.get("joins") for m in members):  # nobody else will come
        reason = next(filter(None, (_missing(group, groups) for group in groups)), None)
    return reason


def _by_port(members: list[Member]) -> list[list[Member]]:
    """Group the processes that have joined, even if one has aborted since, by port: the host names may differ."""
    groups: dict[str, list[Member]] = defaultdict(list)
    for member in members:
        if member.report.get("joins") and (member.working or member.code == -signal.SIGABRT):
            groups[_address(member).rpartition(":")[2]].append(member)
    return list(groups.values())


def _twice(group: list[Member]) -> str | None:
    numbers = [_number(m) for m in group]
    number = next((n for n in numbers if numbers.count(n) > 1), None)
    if number is None:
        return None
    same = [str(m.index) for m in group if _number(m) == number]
    who = f"{', '.join(same[:-1])} and {same[-1]} {'both' if len(same) == 2 else 'all'}"
    return (
        f"processes {who} join {_joined_at(group[0])} as process {number}: give each its own number, for example "
        "by passing {process} as an argument"
    )


def _missing(group: list[Member], groups: list[list[Member]]) -> str | None:
    first = group[0]
    expected, numbers = first.report["joins"][1], {_number(m) for m in group}
    number = next((n for n in range(expected) if n not in numbers), None)
    if number is None:
        return None
    others = "".join(f"; process {m.index} joins {_address(m)}" for each in groups if each is not group for m in each)
    return f"process {first.index} waits at {_joined_at(first)} for process {number}, which never joins there{others}"


def _number(member: Member) -> int:
    return member.report["joins"][0]


def _address(member: Member) -> str:
    return member.report["joins"][2]


def _joined_at(member: Member) -> str:
    """Return `localhost:10000 (toy.py:14)`; the line is known once the process has answered `ask_where`."""
    line = member.where()
    return _address(member) + (f" ({Path(line[0]).name}:{line[1]})" if line else "")
