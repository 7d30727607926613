"""What a profile is made of: operations of devices, and what the program notes of itself."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from minipod.profiles.operations import MEETINGS

Span = tuple[float, float]  # from, to: seconds since the epoch


class Lane(NamedTuple):
    """A device, by the number of its process and its own."""

    process: int
    device: int

    def __str__(self) -> str:
        return f"device {self.device}"


@dataclass(frozen=True)
class Event:
    """One operation on one device.

    name: the instruction's, in the compiled program. kind: "compute", or a collective's operation, such as
    "all-reduce"; "async-collective" where a TPU's profile does not say which. start, end: seconds since the epoch.
    group: the lanes that take part; empty where it is not known.
    complete: when the last of those that take part had started, None for what is no collective, or whose partners are
    not found. Until then this device waits; by whom it was kept waiting is `last`.
    """

    lane: Lane
    name: str
    kind: str
    start: float
    end: float
    group: tuple[Lane, ...] = ()
    complete: float | None = None
    last: Lane | None = None

    @property
    def seconds(self) -> float:
        return self.end - self.start


@dataclass(frozen=True)
class Note:
    """What the program noted: `TraceAnnotation("load")`, or a step (`StepTraceAnnotation`) with its number."""

    process: int
    name: str
    start: float
    end: float
    step: int | None = None


def met(events: Iterable[Event]) -> tuple[Event, ...]:
    """The events, each collective with the moment at which the last of its devices had started it.

    The n-th time that a device does an operation is matched with the n-th time of the others: they run one program. A
    group is taken from the event; where it is unknown, all lanes that have the operation. No group is found where the
    devices do it differently often (a profile that begins in the middle), or where they were never in it at once; none
    for the parts of an asynchronous one, which need not wait where they stand.
    """
    kept, turns = list(events), defaultdict[tuple[Lane, str], list[int]](list)
    for i, event in sorted(enumerate(kept), key=lambda each: each[1].start):
        if event.kind in MEETINGS and not _apart(event.name):
            turns[event.lane, event.name].append(i)
    for (lane, name), own in turns.items():
        others = kept[own[0]].group or tuple(sorted(where for where, what in turns if what == name))
        columns = [turns.get((other, name), []) for other in others]
        if lane in others and {len(column) for column in columns} == {len(own)}:
            for turn in range(len(own)):
                kept[own[turn]] = _with(kept[own[turn]], [kept[column[turn]] for column in columns])
    return tuple(kept)


def _apart(name: str) -> bool:
    return name.partition(".")[0].endswith(("-start", "-done"))


def _with(event: Event, every: Sequence[Event]) -> Event:
    late = max(every, key=lambda e: e.start)
    if len(every) < 2 or late.start > min(e.end for e in every):
        return event
    return replace(event, complete=late.start, last=late.lane)
