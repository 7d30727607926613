"""A profile: who did what, when; and what came of it, in milliseconds."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from minipod.profiles import spans
from minipod.profiles.events import Event, Lane, Note, Span
from minipod.profiles.operations import MEETINGS
from minipod.tables import Table

COLUMNS = ("compute", "waiting", "exchange", "idle", "hidden")


@dataclass(frozen=True)
class Lanes:
    """What one device did: spans that do not overlap and fill the window, and what of its communication is hidden.

    compute: an operation that is no collective runs. waiting: only a collective does, and somebody who takes part has
    not come to it yet. exchange: only a collective does, and all have come, or it is not known who takes part. idle:
    nothing. hidden: a collective runs while the device computes, which is part of compute. In seconds since the epoch.
    """

    compute: list[Span]
    waiting: list[Span]
    exchange: list[Span]
    idle: list[Span]
    hidden: list[Span]


@dataclass(frozen=True)
class Profile:
    """Operations of devices and notes of the program's threads, from `start` to `end` (seconds since the epoch)."""

    events: tuple[Event, ...]
    notes: tuple[Note, ...]
    start: float
    end: float

    @property
    def lanes(self) -> list[Lane]:
        return sorted({event.lane for event in self.events})

    @property
    def assumed(self) -> bool:
        """Is there a collective of which the profile does not say who takes part? All devices are taken to do so."""
        return any(event.kind in MEETINGS and not event.group for event in self.events)

    @property
    def steps(self) -> list[int]:
        """The numbers of the steps that were noted (`jax.profiler.StepTraceAnnotation`)."""
        return sorted({note.step for note in self.notes if note.step is not None})

    def step(self, number: int) -> "Profile":
        """One step: from the first process that began it to the last that ended it. ValueError if there is none.

        A step that does not wait for its result ends, in its process, before the devices do.
        """
        found = [note for note in self.notes if note.step == number]
        if not found:
            raise ValueError(f"no step {number} was noted; there are {', '.join(map(str, self.steps)) or 'none'}")
        return self.during(min(n.start for n in found), max(n.end for n in found))

    def during(self, start: float, end: float) -> "Profile":
        """The same devices from `start` to `end`, seconds since the epoch. ValueError where that is no time."""
        if not start < end:
            raise ValueError(f"from {start} to {end} there is no time")
        return replace(self, start=start, end=end)

    def noted(self, name: str) -> list[Note]:
        """What the program noted by this name (`jax.profiler.TraceAnnotation`), in order."""
        here = (n for n in self.notes if n.name == name and n.end > self.start and n.start < self.end)
        return sorted(here, key=lambda note: note.start)

    def collectives(self, lane: Lane) -> list[Event]:
        """Those of one device in this time, in order."""
        own = (e for e in self.events if e.lane == lane and e.kind != "compute")
        return sorted((e for e in own if e.end > self.start and e.start < self.end), key=lambda e: e.start)

    def spent(self, lane: Lane) -> Lanes:
        """What a device did in this time."""
        window = self.start, self.end
        own = [event for event in self.events if event.lane == lane]
        computes = spans.within(((e.start, e.end) for e in own if e.kind == "compute"), window)
        talks = spans.within(((e.start, e.end) for e in own if e.kind != "compute"), window)
        waits = spans.within(
            ((e.start, min(e.complete, e.end)) for e in own if e.complete is not None and e.complete > e.start), window
        )
        exposed = spans.without(talks, computes)
        exchange = spans.without(exposed, waits)
        return Lanes(
            compute=computes,
            waiting=spans.without(exposed, exchange),
            exchange=exchange,
            idle=spans.without([window], [*computes, *talks]),
            hidden=spans.without(talks, exposed),
        )

    def kinds(self) -> dict[str, tuple[int, float, float]]:
        """By kind of collective: how many a device had at most, and the seconds of all devices, exposed and hidden."""
        found: dict[str, tuple[int, float, float]] = {}
        for kind in sorted({e.kind for e in self.events} - {"compute"}):
            most, exposed, hidden = 0, 0.0, 0.0
            for lane in self.lanes:
                own = [e for e in self.collectives(lane) if e.kind == kind]
                talks = spans.within(((e.start, e.end) for e in own), (self.start, self.end))
                alone = spans.seconds(spans.without(talks, self.spent(lane).compute))
                most, exposed = max(most, len(own)), exposed + alone
                hidden += spans.seconds(talks) - alone
            if most:
                found[kind] = most, exposed, hidden
        return found

    def operations(self) -> dict[str, tuple[int, float]]:
        """By name, the longest first: how many times all devices did it, and the seconds of all of them.

        The number that the compiler puts behind a name is left out: `fusion.3` and `fusion.7` are both `fusion`. A
        collective's seconds have its waiting in them.
        """
        found: dict[str, tuple[int, float]] = {}
        for event in self.events:
            inside = spans.within([(event.start, event.end)], (self.start, self.end))
            if inside:
                name = re.sub(r"[._]\d+$", "", event.name.rpartition("/")[2])
                times, seconds = found.get(name, (0, 0.0))
                found[name] = times + 1, seconds + spans.seconds(inside)
        return dict(sorted(found.items(), key=lambda each: -each[1][1]))

    def straggler(self) -> tuple[Lane, float] | None:
        """The device that the others waited for longest, and the seconds of all of them; None if nobody did."""
        blamed: dict[Lane, float] = {}
        for event in (e for lane in self.lanes for e in self.collectives(lane)):
            if event.last is not None and event.complete is not None and event.last != event.lane:
                late = spans.within([(event.start, min(event.complete, event.end))], (self.start, self.end))
                blamed[event.last] = blamed.get(event.last, 0.0) + spans.seconds(late)
        return max(blamed.items(), key=lambda each: each[1]) if any(blamed.values()) else None

    def table(self) -> Table:
        """Milliseconds of each device: computing, waiting in a collective, exchanging, idle; and what is hidden."""
        several = len({lane.process for lane in self.lanes}) > 1
        rows = []
        for lane in self.lanes:
            spent = self.spent(lane)
            name = f"process {lane.process}, {lane}" if several else str(lane)
            rows.append((name, *(f"{1e3 * spans.seconds(getattr(spent, c)):.2f}" for c in COLUMNS)))
        return Table(("milliseconds", *COLUMNS), tuple(rows), kind="profile")

    def data(self) -> dict[str, Any]:
        """All of it as plain data, in seconds."""
        late = self.straggler()
        return {
            "seconds": self.end - self.start,
            "devices": [
                {"process": lane.process, "device": lane.device}
                | {c: spans.seconds(getattr(self.spent(lane), c)) for c in COLUMNS}
                for lane in self.lanes
            ],
            "collectives": {
                kind: {"times": times, "exposed": exposed, "hidden": hidden}
                for kind, (times, exposed, hidden) in self.kinds().items()
            },
            "operations": {
                name: {"times": times, "seconds": seconds} for name, (times, seconds) in self.operations().items()
            },
            "straggler": late and {"process": late[0].process, "device": late[0].device, "seconds": late[1]},
            "groups_assumed": self.assumed,
        }

    def __str__(self) -> str:
        return str(self.table())


def whole(events: Sequence[Event], notes: Sequence[Note]) -> Profile:
    """From the first operation of a device to the last."""
    return Profile(tuple(events), tuple(notes), min(e.start for e in events), max(e.end for e in events))
