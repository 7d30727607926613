"""Estimate how long a scheduled program takes by its own schedule.

The times of compute, memory and network, each alone at its peak, bound a step: it takes at least the longest, and if
nothing overlaps, their sum. The program shows what overlaps: a text compiled for a TPU is in the order in which the
core runs it (`is_scheduled=true`), and asynchronous operations have a start and a done. This module runs the text, in
that order, on three resources that work at their peak:

- The core runs one instruction after another. An instruction takes as long as its products, or as its own reads and
  writes, whichever is longer. A synchronous collective occupies the core.
- The memory serves the running instruction first, and with the rest of its time the asynchronous copies (`copy-start`,
  `slice-start` …) in the order in which they started. XLA assumes the same when it chooses what to fetch ahead:
  openxla/xla, xla/service/memory_space_assignment (AsynchronousCopyResource, and GetDefaultMemoryBandwidthIdleTime in
  cost_analysis.h).
- The links carry one collective after another.

A done waits for its operation. A loop takes the time of one iteration, at whose end everything that it started is
finished, times the number of iterations; if that is unknown, the greatest number, or what the caller says. Of a
conditional's branches, the slowest counts. Transfers by custom kernels are not collectives and take no time here.

At every moment one of the three resources works at its peak, so a step never takes longer than their sum; and each does
all of its work, so a step never takes less than the longest.
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
IN_ORDER = ("while", "conditional", "call")  # their computations run in order; in a fusion, all runs at once


@dataclass(frozen=True)
class Machine:
    """A model of the seconds that each kind of work takes by itself.

    compute: seconds for FLOPs by element type. memory: for bytes to or from the chip's memory. network: for one run of
        a collective.
    cycle: for one of the cycles that the TPU compiler estimates for an instruction. If it is given, an instruction that
        needs only fast memory computes for at least its cycles, so that elementwise operations and products of few rows
        count, too. (The cycles of other instructions include the compiler's assumptions about the memory's speed.)
    """

    compute: Callable[[Mapping[str, int]], float]
    memory: Callable[[int], float]
    network: Callable[[Collective], float]
    cycle: float = 0.0


def timeline(program: Program, machine: Machine, mesh: Mapping[str, int] | None = None, unknown: int = 1) -> Timeline:
    """Simulate one step of a scheduled program on `machine`.

    mesh: axis name → size, to name the axes of collectives. unknown: number of iterations to assume for loops of
    unknown length. Raises ValueError, quoting the line, for a line that cannot be read; errors from `machine` are
    passed on.
    """
    return _Simulation(program, machine, mesh, unknown).once(program.entry, Place())


class _Simulation:
    """The time of each computation of a program, run once, since a program may call it in many places."""

    def __init__(self, program: Program, machine: Machine, mesh: Mapping[str, int] | None, unknown: int):
        self.program, self.machine, self.walker = program, machine, Walker(program, mesh, unknown)
        self.known: dict[tuple[str, Place, tuple[Value, ...]], Timeline] = {}

    def once(self, name: str, place: Place, given: tuple[Value, ...] = ()) -> Timeline:
        """Simulate one run of the computation `name`, called with the arguments `given`."""
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
        self, clock: Clock, computation: Computation, line: Instruction, work: Timeline, inside: list[Timeline]
    ) -> None:
        """Run one instruction, its own work and its calls, on the core or asynchronously."""
        first = line.operand_names[0] if line.operands else ""
        if line.opcode.endswith("-update") and first in clock.tickets:
            clock.tickets[line.name] = clock.tickets[first]
        if line.opcode.endswith("-done"):
            clock.finish(first)
        if line.opcode in IN_ORDER:
            for each in (work, *inside):
                clock.run(each)
            return
        one = self._at_least(line, _at_once([work, *inside]))
        if line.opcode.endswith("-start"):
            clock.start([line.name], one.memory, one.network)
            clock.run(Timeline(one.compute, one.compute))
        elif part := self._part(line):
            names = sorted(channels(self.program, computation, line))
            _in_parts(clock, part, [f"channel {name}" for name in names], work, _at_once(inside))
        else:
            if one.network:
                clock.alone()
            clock.run(one)

    def _own(self, computation: Computation, line: Instruction, place: Place) -> Timeline:
        """Return the work of an instruction, without what it calls."""
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
        """Return the work of what an instruction calls, in all iterations; of a conditional, one branch."""
        if begins(line):
            return []
        calls = self.walker.calls(computation, line, place, here)
        turns = (
            (1 if there.times is None else there.times, self.once(name, there, given)) for name, there, given in calls
        )
        runs = [one.times(n) for n, one in turns]
        return [_costliest(runs)] if base(line.opcode) == "conditional" and runs else runs

    def _at_least(self, line: Instruction, one: Timeline) -> Timeline:
        """Return the work, at least as long as the compiler estimates, if `cycle` is given."""
        if not self.machine.cycle or one.memory or one.network or not (cycles := _CYCLES.search(line.rest)):
            return one
        return at_once(max(one.compute, int(cycles[1]) * self.machine.cycle), 0.0, 0.0)

    def _part(self, line: Instruction) -> str:
        """Return "start" or "done" for a fusion that is that part of an asynchronous collective."""
        names = line.references.get("calls", []) if line.opcode == "fusion" else []
        return next((part for n in names if n in self.walker.holding and (part := self._part_of(n))), "")

    def _part_of(self, name: str) -> str:
        return part_of(self.program.computations[name])


def _in_parts(clock: Clock, part: str, names: list[str], work: Timeline, inside: Timeline) -> None:
    """Run a fusion that starts or ends the collective of these names, and computes."""
    if part == "done":
        for name in names:
            clock.finish(name)
    clock.run(at_once(inside.compute, work.memory, 0.0))
    clock.start(names, inside.memory, inside.network)


def _at_once(parts: Iterable[Timeline]) -> Timeline:
    """Run all parts of a fusion at the same time."""
    every = [*parts]
    return at_once(sum(p.compute for p in every), sum(p.memory for p in every), sum(p.network for p in every))


def _costliest(branches: list[Timeline]) -> Timeline:
    """Return the slowest branch, with the most work of each kind of any branch."""
    slowest = max(branches, key=lambda each: each.seconds)
    return replace(
        slowest,
        compute=max(each.compute for each in branches),
        memory=max(each.memory for each in branches),
        network=max(each.network for each in branches),
    )
