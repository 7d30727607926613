"""Analyse a profile: what each device did, when and for how long."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from minipod.profiles import spans
from minipod.profiles.events import Event, Lane, Note, Span
from minipod.profiles.operations import MEETINGS
from minipod.ranges import ranges
from minipod.tables import Table

COLUMNS = ("compute", "waiting", "exchange", "idle", "hidden")


@dataclass(frozen=True)
class Lanes:
    """The time of one device. The first four are lists of spans that do not overlap and fill the time of the profile.

    compute: an operation other than a collective runs. waiting: only a collective runs, and another device has not
    reached it yet. exchange: only a collective runs, and all devices have reached it, or its group is unknown. idle:
    nothing runs. hidden: the part of compute during which a collective runs, too. Spans are in seconds since the epoch.
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
        """Return whether the group of some collective is unknown, so that all devices are assumed to share it."""
        return any(event.kind in MEETINGS and not event.group for event in self.events)

    @property
    def steps(self) -> list[int]:
        """Return the numbers of the steps that the program noted (`jax.profiler.StepTraceAnnotation`)."""
        return sorted({note.step for note in self.notes if note.step is not None})

    def step(self, number: int) -> "Profile":
        """Return the profile of step `number`, from its first start to its last end in any process.

        A step that does not wait for its result ends in its process before the devices have finished. Raises ValueError
        if the step was not recorded.
        """
        notes = [note for note in self.notes if note.step == number]
        if not notes:
            raise ValueError(f"step {number} was not recorded; recorded steps: {ranges(self.steps) or 'none'}")
        return self.during(min(n.start for n in notes), max(n.end for n in notes))

    def during(self, start: float, end: float) -> "Profile":
        """Return the profile from `start` to `end`, seconds since the epoch. Raises ValueError unless start < end."""
        if not start < end:
            raise ValueError(f"the interval from {start} to {end} is empty")
        return replace(self, start=start, end=end)

    def noted(self, name: str) -> list[Note]:
        """Return the program's notes called `name` (`jax.profiler.TraceAnnotation`), in order."""
        here = (n for n in self.notes if n.name == name and n.end > self.start and n.start < self.end)
        return sorted(here, key=lambda note: note.start)

    def collectives(self, lane: Lane) -> list[Event]:
        """Return the collectives of one device, in order."""
        events = (e for e in self.events if e.lane == lane and e.kind != "compute")
        return sorted((e for e in events if e.end > self.start and e.start < self.end), key=lambda e: e.start)

    def spent(self, lane: Lane) -> Lanes:
        """Divide the time of one device into the kinds of `Lanes`."""
        window = self.start, self.end
        events = [event for event in self.events if event.lane == lane]
        computes = spans.within(((e.start, e.end) for e in events if e.kind == "compute"), window)
        talks = spans.within(((e.start, e.end) for e in events if e.kind != "compute"), window)
        late = [(e, e.complete) for e in events if e.complete is not None and e.complete > e.start]
        waits = spans.within(((e.start, min(complete, e.end)) for e, complete in late), window)
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
        """Map each kind of collective to (most runs on one device, exposed seconds of all devices, hidden seconds)."""
        figures: dict[str, tuple[int, float, float]] = {}
        for kind in sorted({e.kind for e in self.events} - {"compute"}):
            most, exposed, hidden = 0, 0.0, 0.0
            for lane in self.lanes:
                events = [e for e in self.collectives(lane) if e.kind == kind]
                talks = spans.within(((e.start, e.end) for e in events), (self.start, self.end))
                alone = spans.seconds(spans.without(talks, self.spent(lane).compute))
                most, exposed = max(most, len(events)), exposed + alone
                hidden += spans.seconds(talks) - alone
            if most:
                figures[kind] = most, exposed, hidden
        return figures

    def operations(self) -> dict[str, tuple[int, float]]:
        """Map each `scope/name` to (runs on all devices, seconds of all devices), longest first.

        The compiler's number after a name is left out: `fusion.3` and `fusion.7` are both `fusion`, unless they belong
        to different scopes. The seconds of a collective include its waiting.
        """
        figures: dict[str, tuple[int, float]] = {}
        for event in self.events:
            inside = spans.within([(event.start, event.end)], (self.start, self.end))
            if inside:
                name = re.sub(r"[._]\d+$", "", event.name.rpartition("/")[2])
                name = f"{event.scope}/{name}" if event.scope else name
                times, seconds = figures.get(name, (0, 0.0))
                figures[name] = times + 1, seconds + spans.seconds(inside)
        return dict(sorted(figures.items(), key=lambda each: -each[1][1]))

    def straggler(self) -> tuple[Lane, float] | None:
        """Return the device for which the others waited longest, and their wait in seconds; None if none waited."""
        blamed: dict[Lane, float] = {}
        for event in (e for lane in self.lanes for e in self.collectives(lane)):
            if event.last is not None and event.complete is not None and event.last != event.lane:
                late = spans.within([(event.start, min(event.complete, event.end))], (self.start, self.end))
                blamed[event.last] = blamed.get(event.last, 0.0) + spans.seconds(late)
        return max(blamed.items(), key=lambda each: each[1]) if any(blamed.values()) else None

    def table(self) -> Table:
        """Return a table of `spent` in milliseconds, with a row for each device."""
        several = len({lane.process for lane in self.lanes}) > 1
        rows = []
        for lane in self.lanes:
            spent = self.spent(lane)
            name = f"process {lane.process}, {lane}" if several else str(lane)
            rows.append((name, *(f"{1e3 * spans.seconds(getattr(spent, c)):.2f}" for c in COLUMNS)))
        return Table(("milliseconds", *COLUMNS), tuple(rows), kind="profile")

    def data(self) -> dict[str, Any]:
        """Return the object that `minipod profile --json` prints; times are in seconds."""
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
    """Make a profile from the first operation to the last."""
    return Profile(tuple(events), tuple(notes), min(e.start for e in events), max(e.end for e in events))
