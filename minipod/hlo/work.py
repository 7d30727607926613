"""How much a compiled program computes and moves: FLOPs of its matrix products, bytes to and from its memory.

`compiled.cost_analysis()` counts the body of a loop once, however often it runs; here it counts as often as it runs.

- FLOPs are those of dots, convolutions and library calls for them, a multiplication and an addition each: sums and
  elementwise work are left out, as they are where models are compared. By element type of what is multiplied.
- Bytes: every array that an instruction outside a fusion reads or writes, once; of one that is only sliced or updated
  in place, that part. What the compiler keeps in the chip's fast memory (a layout with `S(…)`) is not counted. So this
  is an estimate of the least that must move. What collectives read and write counts, too.
- Of a conditional's branches one runs, so the costliest counts: in FLOPs the one that multiplies most, in bytes the one
  that moves most.
- What a custom kernel does by itself is not seen.
"""

from collections import Counter
from dataclasses import dataclass, replace

from minipod.hlo import memory
from minipod.hlo.calls import base
from minipod.hlo.collectives import Place, Walker, begins, moves, part_of
from minipod.hlo.loops import Value
from minipod.hlo.products import products
from minipod.hlo.text import Program, quoted, reading


@dataclass(frozen=True)
class Work:
    """Of one device, over the whole program.

    flops: element type → FLOPs; float32 products for which more than the default precision was asked are "f32×3"
    (high) or "f32×6" (highest), the passes that a TPU makes of one. moved: bytes to or from memory.
    """

    flops: dict[str, int]
    moved: int


def work(program: Program) -> Work:
    """ValueError, quoting the line, for a loop that runs an unknown number of times, and for what is not understood."""
    return _Counting(program).once(program.entry, Place())


class _Counting:
    """What computations of a program do, each counted once: a program may call one of them in many places."""

    def __init__(self, program: Program):
        self.program, self.walker = program, Walker(program, None)
        self.known: dict[tuple[str, Place, tuple[Value, ...]], Work] = {}

    def once(self, name: str, place: Place, given: tuple[Value, ...] = ()) -> Work:
        """Of one run of the computation `name`, called with the arguments `given`, and of all that it calls."""
        key = name, replace(place, times=1, branch=()), given
        if key not in self.known:
            self.known[key] = self._once(*key)
        return self.known[key]

    def _once(self, name: str, place: Place, given: tuple[Value, ...]) -> Work:
        computation, here = self.program.computations[name], self.walker.values.of(name, given)
        place = replace(place, part=part_of(computation) or place.part)
        flops: Counter[str] = Counter()
        moved = 0
        for line in computation.values():
            with reading(line):
                kind, count = products(computation, line)
                flops[kind] += count
                moved += 0 if place.fused else memory.moved(self.program, computation, line)
            if begins(line):
                if self.walker.counts(line, place) and moves(c := self.walker.collective(line, computation, place)):
                    with reading(line):
                        moved += memory.of_collective(c, computation, line)
                continue
            inside: list[Work] = []
            for callee, there, handed in self.walker.calls(computation, line, place, here):
                if there.times is None:
                    raise quoted("this loop runs an unknown number of times, so its work is not known", line.line)
                one = self.once(callee, there, handed)
                inside.append(Work({kind: n * there.times for kind, n in one.flops.items()}, one.moved * there.times))
            if base(line.opcode) == "conditional" and inside:
                most = max(inside, key=lambda branch: sum(branch.flops.values()))
                inside = [Work(most.flops, max(branch.moved for branch in inside))]
            for one in inside:
                flops.update(one.flops)
                moved += one.moved
        return Work(dict(+flops), moved)
