"""Define the parts of a profile: operations of devices and notes of the program."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from minipod.profiles.operations import MEETINGS

Span = tuple[float, float]  # from, to: seconds since the epoch


class Lane(NamedTuple):
    """A device: the number of its process and its own number."""

    process: int
    device: int

    def __str__(self) -> str:
        return f"device {self.device}"


@dataclass(frozen=True)
class Event:
    """One operation on one device.

    name: of the instruction in the compiled program. kind: "compute", or a collective's operation, such as
    "all-reduce"; "async-collective" if a TPU's profile does not say which one. start, end: seconds since the epoch.
    group: the lanes that share a collective; empty if they are unknown.
    scope: the names that `jax.named_scope` gave to the instruction, if the program's text is known.
    complete: when the last lane of the group started the collective, for which this device waits. last: that lane. Both
    are None for other operations, and if the group is unknown.
    """

    lane: Lane
    name: str
    kind: str
    start: float
    end: float
    group: tuple[Lane, ...] = ()
    scope: str = ""
    complete: float | None = None
    last: Lane | None = None

    @property
    def seconds(self) -> float:
        return self.end - self.start


@dataclass(frozen=True)
class Note:
    """A note of the program: `TraceAnnotation("load")`, or a step (`StepTraceAnnotation`) with its number."""

    process: int
    name: str
    start: float
    end: float
    step: int | None = None


def met(events: Iterable[Event]) -> tuple[Event, ...]:
    """Return the events with `complete` and `last` of each collective filled in.

    All devices run one program, so the n-th run of an operation on one device is matched with the n-th run on the
    others. The group is that of the event or, if it is unknown, all lanes with the operation. Nothing is matched if the
    devices ran it different numbers of times (a profile that begins in the middle), or were never in it at the same
    time; nor are the start and the done of an asynchronous collective, at which a device need not wait.
    """
    kept, turns = list(events), defaultdict[tuple[Lane, str], list[int]](list)
    for i, event in sorted(enumerate(kept), key=lambda each: each[1].start):
        if event.kind in MEETINGS and not _apart(event.name):
            turns[event.lane, event.name].append(i)
    for (lane, name), turns_of_lane in turns.items():
        others = kept[turns_of_lane[0]].group or tuple(sorted(where for where, what in turns if what == name))
        columns = [turns.get((other, name), []) for other in others]
        if lane in others and {len(column) for column in columns} == {len(turns_of_lane)}:
            for turn in range(len(turns_of_lane)):
                kept[turns_of_lane[turn]] = _with(kept[turns_of_lane[turn]], [kept[column[turn]] for column in columns])
    return tuple(kept)


def _apart(name: str) -> bool:
    return name.partition(".")[0].endswith(("-start", "-done"))


def _with(event: Event, every: Sequence[Event]) -> Event:
    late = max(every, key=lambda e: e.start)
    if len(every) < 2 or late.start > min(e.end for e in every):
        return event
    return replace(event, complete=late.start, last=late.lane)
