"""Estimate how long a program's collectives take on an interconnect, one after the other, or a lower bound."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from minipod.hlo.ops import Branch, Collective
from minipod.ranges import counted
from minipod.torus import torus_of
from minipod.traffic import time_model
from minipod.traffic.bill import costliest, times_of
from minipod.traffic.interconnects import Link, link

__all__ = ["AtLeast", "at_least", "seconds"]


def seconds(collectives: Sequence[Collective], on: Link | str, mesh: Any = None) -> float:
    """Estimate the seconds that `collectives` take, one after the other, on an interconnect (`time_model.estimate`).

    on: a `Link`, or the name of one in `LINKS`. mesh: a `Mesh` or `AbstractMesh`, needed for collectives over several
    axes and for permutes beyond the next device. If its devices are TPUs, real ones or those of `minipod.pods.mesh`,
    their coordinates say on which axes of the torus the mesh lies, and their slices say which bytes cross the network
    between slices; otherwise the axes of the mesh are taken as those of the machine. A conditional takes as long as its
    slowest branch.
    Raises ValueError for an unknown name, a mesh that is not the program's, groups that are not boxes of the torus, and
    loops of unknown length; for such groups and loops, `at_least` estimates a lower bound.
    """
    estimates = _estimates(collectives, on, mesh)
    for c, (_, why) in zip(collectives, estimates, strict=True):
        times_of(c, "its time cannot be estimated")
        if why:
            raise ValueError(why)
    return costliest([(c.branch, time * (c.times or 0)) for c, (time, _) in zip(collectives, estimates, strict=True)])


@dataclass(frozen=True)
class AtLeast:
    """A lower bound for the time of collectives.

    seconds: time of all collectives. bounded: the part of `seconds` for which only a lower bound is known; 0 if all
    are estimates. notes: a sentence for each reason why there is no estimate.
    """

    seconds: float
    bounded: float = 0.0
    notes: tuple[str, ...] = ()


def at_least(collectives: Sequence[Collective], on: Link | str, mesh: Any = None) -> AtLeast:
    """Estimate like `seconds`, with lower bounds in place of missing estimates; a loop of unknown length counts once.

    Raises ValueError for an unknown name, or a mesh that is not the program's.
    """
    costs: list[tuple[Branch, float]] = []
    known: list[tuple[Branch, float]] = []
    least: dict[str, float] = {}
    for c, (time, why) in zip(collectives, _estimates(collectives, on, mesh), strict=True):
        if c.times is None:
            why = f"a loop around this {c.op} of {counted(c.bytes, 'byte')} runs an unknown number of times"
        costs.append((c.branch, time * (1 if c.times is None else c.times)))
        known.append((c.branch, 0.0 if why else costs[-1][1]))
        if why:
            least[why] = least.get(why, 0.0) + costs[-1][1]
    notes = tuple(f"{why}, and at least {time:.3g} s is counted" for why, time in least.items())
    total = float(costliest(costs))
    return AtLeast(total, total - float(costliest(known)), notes)


def _estimates(collectives: Sequence[Collective], on: Link | str, mesh: Any) -> list[tuple[float, str]]:
    """Return `time_model.estimate` of each. Raises as `at_least` does."""
    carrier = link(on) if isinstance(on, str) else on
    shape = None if mesh is None else dict(mesh.shape)
    devices = {device for c in collectives for group in c.groups for device in group}
    axes = {axis for c in collectives for axis in c.axes or ()}
    if shape is not None and (not axes <= set(shape) or max(devices, default=0) >= prod(shape.values())):
        raise ValueError(f"these collectives do not run on the mesh {shape}: give the mesh of their program")
    torus = torus_of(mesh, carrier.closes) if carrier.shape == "torus" else None
    return [time_model.estimate(c, carrier, shape, torus) for c in collectives]
