"""Join the profiles of several processes in one timeline."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from minipod.profiles.events import Event, Lane, Note, met
from minipod.profiles.operations import MEETINGS
from minipod.profiles.profile import Profile, whole


def together(*profiles: Profile) -> Profile:
    """Join the profiles of several processes, in the order given; process 0 is the first.

    The clocks are aligned by the collectives that the processes share. A collective ends at nearly the same time
    everywhere, because no process leaves it before all have reached it; so each clock is shifted by the median of the
    differences between these ends. The spread of the differences is the error of the aligned times.
    Raises ValueError without a profile, or if a process shares no such collective with the first.
    """
    if not profiles:
        raise ValueError("together() needs at least one profile")
    events, notes = list[Event](), list[Note]()
    for process, profile in enumerate(profiles):
        if process and not (apart := offsets(profiles[0], profile)):
            raise ValueError(
                f"the clocks of processes 0 and {process} cannot be aligned: no all-reduce, all-gather or "
                "similar collective ran equally often on all of their devices"
            )
        shift = median(apart) if process else 0.0
        events += [_of(event, process, shift) for event in profile.events]
        notes += [replace(n, process=process, start=n.start - shift, end=n.end - shift) for n in profile.notes]
    return whole(met(events), notes)


def offsets(first: Profile, other: Profile) -> list[float]:
    """Return, for each run of a shared collective, how many seconds later it ends by the clock of `other`."""
    mine, theirs = _ends(first), _ends(other)
    shared = [name for name in mine.keys() & theirs.keys() if len(mine[name]) == len(theirs[name])]
    return [b - a for name in shared for a, b in zip(mine[name], theirs[name], strict=True)]


def _ends(profile: Profile) -> dict[str, Sequence[float]]:
    """Return, by name, the ends of all runs of a collective, each on the last device of this process to finish it."""
    by_lane: dict[str, list[list[float]]] = {}
    for lane in profile.lanes:
        runs: dict[str, list[float]] = {}
        for event in sorted((e for e in profile.events if e.lane == lane), key=lambda e: e.start):
            if event.kind in MEETINGS:
                runs.setdefault(event.name, []).append(event.end)
        for name, ends in runs.items():
            by_lane.setdefault(name, []).append(ends)
    return {
        name: [max(ends) for ends in zip(*each, strict=True)]
        for name, each in by_lane.items()
        if len({len(ends) for ends in each}) == 1
    }


def _of(event: Event, process: int, shift: float) -> Event:
    group = tuple(Lane(process, lane.device) for lane in event.group)
    lane = Lane(process, event.lane.device)
    at = event.start - shift, event.end - shift
    return replace(event, lane=lane, group=group, start=at[0], end=at[1], complete=None, last=None)
