"""How long a scheduled program takes by its own schedule: what the core waits for, and what is under way meanwhile.

Compute, memory and network, each alone at its peak, say the least that a step takes (the longest of them), and what it
takes where nothing overlaps (their sum). Which is nearer, the program says: a TPU's compiled text stands in the order
in which its core runs it (`is_scheduled=true`), and what is asynchronous in it has a start and a done. Here it is run,
in that order, on three resources that each work at their peak:

- The core runs one instruction after the other. One lasts as long as its products, or as what it reads and writes
  itself, whichever is longer. A collective that is not asynchronous holds the core.
- The memory serves the running instruction first; what that leaves goes to the copies that are under way
  (`copy-start`, `slice-start` …), one after the other as they were started. XLA assumes both where it chooses what to
  fetch ahead: openxla/xla, xla/service/memory_space_assignment (AsynchronousCopyResource, and
  GetDefaultMemoryBandwidthIdleTime in cost_analysis.h).
- The links carry one collective after the other.

A done waits until what it ends is finished. A loop takes its turns times one turn, at whose end all that it started is
finished; where their number is not known, as many as are possible, or as the caller says. Of a conditional's branches
the slowest counts. What custom kernels send by themselves is in no collective, and takes no time here.

At every moment one of the three works at its peak, so a step is never longer than their sum; each does all of its
work, so a step is never shorter than the longest.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from minipod.hlo import memory
from minipod.hlo.calls import base
from minipod.hlo.clock import Clock, Timeline, at_once
from minipod.hlo.collectives import Collective, Place, Walker, begins, moves, part_of
from minipod.hlo.kernels import kernel
from minipod.hlo.overlap import channels
from minipod.hlo.products import products
from minipod.hlo.scalars import Value
from minipod.hlo.text import Computation, Instruction, Program, reading

__all__ = ["Machine", "Timeline", "timeline"]

_CYCLES = re.compile(r'"estimated_cycles":"(\d+)"')
IN_ORDER = ("while", "conditional", "call")  # what they call is run in its order; in a fusion all happens at once


@dataclass(frozen=True)
class Machine:
    """What each kind of work takes alone, in seconds.

    compute: FLOPs, by element type. memory: bytes to or from the chip's memory. network: one run of a collective.
    cycle: one of the cycles that a TPU's compiler expects an instruction to take, and writes beside it. With it, one
        that finds all it needs in fast memory computes for at least so long: elementwise work, and products of few rows
        count then, too. (Those of other instructions have the compiler's own idea of the memory's speed in them.)
    """

    compute: Callable[[Mapping[str, int]], float]
    memory: Callable[[int], float]
    network: Callable[[Collective], float]
    cycle: float = 0.0


def timeline(program: Program, machine: Machine, mesh: Mapping[str, int] | None = None, unknown: int = 1) -> Timeline:
    """One step of a scheduled program on a machine. `mesh` (axis name → size) names the axes of collectives.

    unknown: how often a loop runs of which nothing is known.

    ValueError, quoting the line, for what is not understood, and where the machine has no figure.
    """
    return _Simulation(program, machine, mesh, unknown).once(program.entry, Place())


class _Simulation:
    """What computations of a program take, each run once: a program may call one of them in many places."""

    def __init__(self, program: Program, machine: Machine, mesh: Mapping[str, int] | None, unknown: int):
        self.program, self.machine, self.walker = program, machine, Walker(program, mesh, unknown)
        self.known: dict[tuple[str, Place, tuple[Value, ...]], Timeline] = {}

    def once(self, name: str, place: Place, given: tuple[Value, ...] = ()) -> Timeline:
        """One run of the computation `name`, called with the arguments `given`."""
        key = name, replace(place, times=1, branch=()), given
        if key not in self.known:
            self.known[key] = self._once(*key)
        return self.known[key]

    def _once(self, name: str, place: Place, given: tuple[Value, ...]) -> Timeline:
        computation, here = self.program.computations[name], self.walker.values.of(name, given)
        place = replace(place, part=part_of(computation) or place.part)
        clock = Clock()
        for line in computation.values():
            inside = self._inside(computation, line, place, here)
            self._step(clock, computation, line, self._own(computation, line, place), inside)
        return clock.end()

    def _step(
        self, clock: Clock, computation: Computation, line: Instruction, own: Timeline, inside: list[Timeline]
    ) -> None:
        """One instruction: what it does itself, what it calls; on the core, or beside it."""
        first = line.operand_names[0] if line.operands else ""
        if line.opcode.endswith("-update") and first in clock.tickets:
            clock.tickets[line.name] = clock.tickets[first]
        if line.opcode.endswith("-done"):
            clock.finish(first)
        if line.opcode in IN_ORDER:
            for each in (own, *inside):
                clock.run(each)
            return
        one = self._at_least(line, _at_once([own, *inside]))
        if line.opcode.endswith("-start"):
            clock.start([line.name], one.memory, one.network)
            clock.run(Timeline(one.compute, one.compute))
        elif part := self._part(line):
            names = sorted(channels(self.program, computation, line))
            _in_parts(clock, part, [f"channel {name}" for name in names], own, _at_once(inside))
        else:
            if one.network:
                clock.alone()
            clock.run(one)

    def _own(self, computation: Computation, line: Instruction, place: Place) -> Timeline:
        """What an instruction does itself, without what it calls."""
        collective = None
        with reading(line):
            kind, flops = products(computation, line)
            moved = self._moved(computation, line, place)
            if begins(line) and self.walker.counts(line, place):
                collective = self.walker.collective(line, computation, place)
                if moves(collective):
                    moved += memory.of_collective(collective, computation, line, place.fused)
        compute = self.machine.compute({kind: flops}) if flops else 0.0
        network = self.machine.network(collective) if collective and moves(collective) else 0.0
        return at_once(compute, self.machine.memory(moved), network)

    def _moved(self, computation: Computation, line: Instruction, place: Place) -> int:
        if not place.fused:
            return memory.moved(self.program, computation, line)
        return this.moved if (this := kernel(line)) else 0

    def _inside(
        self, computation: Computation, line: Instruction, place: Place, here: dict[str, Value]
    ) -> list[Timeline]:
        """What an instruction calls, all turns of it; of a conditional one branch."""
        if begins(line):
            return []
        calls = self.walker.calls(computation, line, place, here)
        turns = (
            (1 if there.times is None else there.times, self.once(name, there, given)) for name, there, given in calls
        )
        found = [one.times(n) for n, one in turns]
        return [_costliest(found)] if base(line.opcode) == "conditional" and found else found

    def _at_least(self, line: Instruction, one: Timeline) -> Timeline:
        """As long as the compiler expects, where that is asked for."""
        if not self.machine.cycle or one.memory or one.network or not (found := _CYCLES.search(line.rest)):
            return one
        return at_once(max(one.compute, int(found[1]) * self.machine.cycle), 0.0, 0.0)

    def _part(self, line: Instruction) -> str:
        """ "start" or "done" for a fusion that is that part of an asynchronous collective."""
        names = line.references.get("calls", []) if line.opcode == "fusion" else []
        return next((part for n in names if n in self.walker.holding and (part := self._part_of(n))), "")

    def _part_of(self, name: str) -> str:
        return part_of(self.program.computations[name])


def _in_parts(clock: Clock, part: str, names: list[str], own: Timeline, inside: Timeline) -> None:
    """A fusion that starts or ends the collective of these names, and computes something itself."""
    if part == "done":
        for name in names:
            clock.finish(name)
    clock.run(at_once(inside.compute, own.memory, 0.0))
    clock.start(names, inside.memory, inside.network)


def _at_once(parts: Iterable[Timeline]) -> Timeline:
    """What stands in a fusion, and the fusion itself."""
    every = [*parts]
    return at_once(sum(p.compute for p in every), sum(p.memory for p in every), sum(p.network for p in every))


def _costliest(branches: list[Timeline]) -> Timeline:
    """The slowest branch, as full of work as any: what the branches have most of, each."""
    slowest = max(branches, key=lambda each: each.seconds)
    return replace(
        slowest,
        compute=max(each.compute for each in branches),
        memory=max(each.memory for each in branches),
        network=max(each.network for each in branches),
    )
