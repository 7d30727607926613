"""How much a compiled program computes and moves: FLOPs of its matrix products, bytes to and from its memory.

`compiled.cost_analysis()` counts the body of a loop once, however often it runs; here it counts as often as it runs.

- FLOPs are those of dots, convolutions and library calls for them, a multiplication and an addition each: sums and
  elementwise work are left out, as they are where models are compared. By element type of what is multiplied.
- Bytes: every array that an instruction outside a fusion reads or writes, once; of one that is only sliced, gathered
  from or updated in place, that part. What the compiler keeps in the chip's fast memory (a layout with `S(…)`) is not
  counted. So this is an estimate of the least that must move. What collectives read and write counts, too.
- What the host is to compute (`compute_on`) is named, too: only what goes there and comes back is counted.
- A custom kernel costs what its author says (`minipod.hlo.kernels`); one that says nothing is named, and only the bytes
  of its operands and results are counted.
- Of a conditional's branches one runs, so the costliest counts: in FLOPs the one that multiplies most, in bytes the one
  that moves most, and likewise for the other figures.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from minipod.hlo import memory
from minipod.hlo.calls import base
from minipod.hlo.collectives import Place, Walker, part_of
from minipod.hlo.kernels import computes_on_host, kernel
from minipod.hlo.ops import begins, moves
from minipod.hlo.products import products
from minipod.hlo.scalars import Value
from minipod.hlo.text import Computation, Instruction, Program, quoted, reading

FLOPS, MOVED, SENT, UNSEEN = "flops", "moved", "sent", "unseen"
FROM_HOST, TO_HOST = "from_host", "to_host"
Tally = Counter[tuple[str, str]]  # (one of these, element type or kernel) → how much


@dataclass(frozen=True)
class Work:
    """Of one device, over the whole program.

    flops: element type → FLOPs; float32 products for which more than the default precision was asked are "f32×3"
        (high) or "f32×6" (highest), the passes that a TPU makes of one; "kernel" are those that custom kernels say.
    moved: bytes to or from memory.
    sent: bytes that custom kernels say they send to other devices: they are in no collective.
    unseen: custom kernels that say nothing of their cost, by name → how often they run. Their FLOPs are missing.
    from_host, to_host: bytes out of the memory of the host, and into it.
    loops: what is known of the loops that do not run as often as they are counted, "at most" or "once" → how many of
        the program's loops; empty where each loop's count is known.
    """

    flops: dict[str, int]
    moved: int
    sent: int = 0
    unseen: dict[str, int] = field(default_factory=dict[str, int])
    loops: dict[str, int] = field(default_factory=dict[str, int])
    from_host: int = 0
    to_host: int = 0


def work(program: Program, unknown: int | None = None) -> Work:
    """unknown: how often a loop counts of which nothing is known; with it, one that is known to run at most so often
    counts as if it did, and `Work.loops` says how many there are of either. None: such loops are an error.

    ValueError, quoting the line, for a loop that runs an unknown number of times, and for what is not understood.
    """
    counting = _Counting(program, unknown)
    tally = counting.once(program.entry, Place())
    of = {key: {name: n for (kind, name), n in tally.items() if kind == key and n} for key in (FLOPS, UNSEEN)}
    loops = dict(Counter(counting.walker.loops.values()))
    host = tally[FROM_HOST, ""], tally[TO_HOST, ""]
    return Work(of[FLOPS], tally[MOVED, ""], tally[SENT, ""], of[UNSEEN], loops, *host)


class _Counting:
    """What computations of a program do, each counted once: a program may call one of them in many places."""

    def __init__(self, program: Program, unknown: int | None):
        self.program, self.walker = program, Walker(program, None, unknown)
        self.known: dict[tuple[str, Place, tuple[Value, ...]], Tally] = {}

    def once(self, name: str, place: Place, given: tuple[Value, ...] = ()) -> Tally:
        """Of one run of the computation `name`, called with the arguments `given`, and of all that it calls."""
        key = name, replace(place, times=1, branch=()), given
        if key not in self.known:
            self.known[key] = self._once(*key)
        return self.known[key]

    def _once(self, name: str, place: Place, given: tuple[Value, ...]) -> Tally:
        computation, here = self.program.computations[name], self.walker.values.of(name, given)
        place = replace(place, part=part_of(computation) or place.part)
        total: Tally = Counter()
        for line in computation.values():
            total.update(self._itself(computation, line, place))
            if begins(line) or computes_on_host(line):
                continue
            inside: list[Tally] = []
            for callee, there, handed in self.walker.calls(computation, line, place, here):
                if there.times is None:
                    raise quoted("this loop runs an unknown number of times, so its work is not known", line.line)
                one = self.once(callee, there, handed)
                inside.append(Counter({key: n * there.times for key, n in one.items()}))
            for one in [_costliest(inside)] if base(line.opcode) == "conditional" else inside:
                total.update(one)
        return total

    def _itself(self, computation: Computation, line: Instruction, place: Place) -> Tally:
        """What an instruction does, without what it calls."""
        found: Tally = Counter()
        if begins(line):
            if self.walker.counts(line, place) and moves(c := self.walker.collective(line, computation, place)):
                with reading(line):
                    found[MOVED, ""] = memory.of_collective(c, computation, line, place.fused)
            return found
        with reading(line):
            kind, count = products(computation, line)
            found[FLOPS, kind] = count
            if not place.fused:
                found[MOVED, ""] = memory.moved(self.program, computation, line)
                found[FROM_HOST, ""], found[TO_HOST, ""] = memory.of_host(computation, line)
        if this := kernel(line):
            if place.fused:
                found[MOVED, ""] = this.moved
            found[SENT, ""] = this.sent
            found[UNSEEN, this.name] = this.flops is None
        return found


def _costliest(branches: Iterable[Tally]) -> Tally:
    """Of a conditional: the products of the branch that multiplies most; the most of any branch of everything else."""
    branches = list(branches)
    most = max(branches, key=lambda one: sum(n for (kind, _), n in one.items() if kind == FLOPS), default=Counter())
    found: Tally = Counter({key: n for key, n in most.items() if key[0] == FLOPS})
    for one in branches:
        found |= Counter({key: n for key, n in one.items() if key[0] != FLOPS})
    return found
