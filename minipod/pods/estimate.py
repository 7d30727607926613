"""How long a step would take by the compiler's own schedule: between the longest of the three figures and their sum."""

from typing import Any

from minipod.chips import Chip
from minipod.hlo.collectives import Collective
from minipod.hlo.text import Program
from minipod.hlo.timeline import Machine, Timeline, timeline
from minipod.roofline import compute_seconds_at_least, memory_seconds
from minipod.torus import torus_of
from minipod.traffic import time_model


def estimate(program: Program, chip: Chip, mesh: Any, unknown: int = 1) -> Timeline:
    """One step of a scheduled program (`minipod.hlo.text.parse`) on chips that lie as the mesh's devices do.

    `.seconds` is the whole; `.for_memory` and `.for_network` are what the core waits for each, in seconds. The chip's
    peaks are those of `minipod.roofline` and `minipod.traffic.seconds`; the schedule says how the three overlap
    (`minipod.hlo.timeline`).
    unknown: how often a loop runs of which nothing is known. What has no figure counts as it does there, at least.
    ValueError, in one sentence, where the memory has none.
    """
    return timeline(program, machine(chip, mesh), dict(mesh.shape), unknown)


def machine(chip: Chip, mesh: Any) -> Machine:
    """A chip of a mesh at its peaks."""
    carrier, shape = chip.carrier, dict(mesh.shape)
    torus = torus_of(mesh, carrier.closes) if carrier.shape == "torus" else None

    def network(collective: Collective) -> float:
        return time_model.estimate(collective, carrier, shape, torus)[0]

    return Machine(
        compute=lambda flops: compute_seconds_at_least(flops, chip)[0],
        memory=lambda moved: memory_seconds(moved, chip),
        network=network,
    )
