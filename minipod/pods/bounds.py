"""Estimate how long a step takes: arithmetic, memory and network, each alone, and all by the compiler's schedule.

`seconds` returns the times, what is missing from them, and how much that could change. `estimate` lies between the
longest of the three and their sum.
"""

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any, NamedTuple

from minipod import traffic
from minipod.chips import Chip
from minipod.hlo.ops import Collective
from minipod.hlo.text import Program
from minipod.hlo.timeline import Machine, Timeline, timeline
from minipod.ranges import counted
from minipod.roofline import BOUNDS, Seconds, compute_seconds_at_least, memory_seconds
from minipod.torus import torus_of
from minipod.traffic import time_model


class _Bounded(NamedTuple):
    """Seconds of one resource. most: with all that is missing; notes: a sentence for each thing that is."""

    seconds: float | None = None
    most: float = inf
    notes: tuple[str, ...] = ()


def seconds(
    chip: Chip,
    mesh: Any,
    flops: Mapping[str, int] | None,
    moved: int | None,
    collectives: Sequence[Collective] | None,
    why: str,
    unseen: Mapping[str, int],
    loops: Mapping[str, int],
    kernels_sent: int,
    of_host: tuple[int, int] = (0, 0),
) -> Seconds:
    """Return the roofline of a plan, from the figures of `minipod.hlo.work` and `minipod.pods.facts.read`.

    why: the reason for flops, moved or collectives that are None. of_host: bytes read from the host's memory, and
    bytes written to it; at best the link carries both at once.
    """
    parts = {
        "compute": _Bounded() if flops is None else _or_note(lambda: _Bounded(*compute_seconds_at_least(flops, chip))),
        "memory": _Bounded() if moved is None else _or_note(lambda: _exactly(memory_seconds(moved, chip))),
        "network": _Bounded() if collectives is None else _or_note(lambda: _network(collectives, chip, mesh)),
        "host": _host(of_host, chip),
    }
    none = [part.notes or (why,) for part in parts.values() if part.seconds is None]
    notes = [f"no figure: {note}" for reasons in none for note in reasons]
    notes += [note for part in parts.values() if part.seconds is not None for note in part.notes]
    most = {name: part.most for name, part in parts.items() if part.most > (part.seconds or 0)}
    if kernels_sent:
        most["network"] = inf
        notes.append(f"network does not include {counted(kernels_sent, 'byte')} that kernels send themselves")
    if unseen:
        most |= dict.fromkeys(BOUNDS, inf)
        names = ", ".join(f"{name} ({count} ×)" for name, count in unseen.items())
        notes.append(f"kernels without a cost estimate, counted by their operands and results: {names}")
    if once := loops.get("once"):
        most |= dict.fromkeys(BOUNDS, inf)
        notes.append(f"loops of unknown length, counted once: {once}")
    if bounded := loops.get("at most"):
        notes.append(f"loops that may end early, counted at their greatest length: {bounded}")
    for passes in loops.keys() - {"once", "at most"}:
        notes.append(f"loops of unknown length, counted {passes} (--passes): {loops[passes]}")
    known = {name: part.seconds for name, part in parts.items()}
    return Seconds(**known, why=tuple(dict.fromkeys(notes)), most_of=most)


def estimate(program: Program, chip: Chip, mesh: Any, unknown: int = 1) -> Timeline:
    """Simulate one step of a scheduled program (`minipod.hlo.text.parse`) on chips arranged like the mesh's devices.

    `.seconds` is the whole step; `.for_memory` and `.for_network` are how long the core waits for each. The chip's
    peaks are those of `minipod.roofline` and `minipod.traffic.seconds`; the schedule says what overlaps
    (`minipod.hlo.timeline`). Work for which there is no figure is taken to cost as little as possible.
    unknown: how often a loop of unknown length runs. Raises ValueError if the memory's speed is unknown.
    """
    return timeline(program, machine(chip, mesh), dict(mesh.shape), unknown)


def machine(chip: Chip, mesh: Any) -> Machine:
    """Return a model of a chip in `mesh` that works at its peaks."""
    carrier, shape = chip.carrier, dict(mesh.shape)
    torus = torus_of(mesh, carrier.closes) if carrier.shape == "torus" else None
    return Machine(
        compute=lambda flops: compute_seconds_at_least(flops, chip)[0],
        memory=lambda moved: memory_seconds(moved, chip),
        network=lambda collective: time_model.estimate(collective, carrier, shape, torus)[0],
    )


def _or_note(figure: Callable[[], _Bounded]) -> _Bounded:
    """Return the figure, or the reason why there is none."""
    try:
        return figure()
    except ValueError as reason:
        return _Bounded(notes=(str(reason),))


def _exactly(figure: float) -> _Bounded:
    return _Bounded(float(figure), float(figure))


def _host(of_host: tuple[int, int], chip: Chip) -> _Bounded:
    if not any(of_host):
        return _exactly(0)
    if chip.host is None:
        missing = f"no source says how fast {chip.name} reaches the host's memory"
        return _Bounded(notes=(f"{missing}: {sum(of_host):,} bytes to and from it are not counted",))
    return _Bounded(max(of_host) / chip.host, sum(of_host) / chip.host)


def _network(collectives: Sequence[Collective], chip: Chip, mesh: Any) -> _Bounded:
    """Bound the network's time; where only a lower bound is known, at most that times the number of devices."""
    least = traffic.at_least(collectives, chip.carrier, mesh)
    return _Bounded(least.seconds, least.seconds + least.bounded * (mesh.devices.size - 1), least.notes)
