"""Who joins JAX's cluster as whom, and at which address: what can be seen only by looking at all processes."""

import signal
from collections import defaultdict
from pathlib import Path

from minipod.cluster.process import Member


def wrong(members: list[Member]) -> str | None:
    """Why those that have joined can never all meet, in words; None if they can, as far as can be seen."""
    groups = _by_port(members)
    said = next(filter(None, map(_twice, groups)), None)
    if said is None and all(m.working and m.report.get("joins") for m in members):  # nobody else will come
        said = next(filter(None, (_missing(group, groups) for group in groups)), None)
    return said


def _by_port(members: list[Member]) -> list[list[Member]]:
    """Those that have joined, a list for each port: names of the host may differ. Who aborts has had to, by another."""
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
        f"processes {who} join {_where(group[0])} as process {number}: each needs a number of its own, such as "
        "{process} among its arguments"
    )


def _missing(group: list[Member], groups: list[list[Member]]) -> str | None:
    first = group[0]
    expected, numbers = first.report["joins"][1], {_number(m) for m in group}
    number = next((n for n in range(expected) if n not in numbers), None)
    if number is None:
        return None
    others = "".join(f"; process {m.index} joins {_address(m)}" for each in groups if each is not group for m in each)
    return f"process {first.index} waits at {_where(first)} for process {number}, which will not come{others}"


def _number(member: Member) -> int:
    return member.report["joins"][0]


def _address(member: Member) -> str:
    return member.report["joins"][2]


def _where(member: Member) -> str:
    """`localhost:10000 (toy.py:14)`, the line being known once it has been asked for."""
    line = member.where()
    return _address(member) + (f" ({Path(line[0]).name}:{line[1]})" if line else "")
