"""Count how much a compiled program computes and moves: FLOPs of its matrix products, bytes to and from its memory.

`compiled.cost_analysis()` counts the body of a loop once, however often it runs; here it counts as often as it runs.

- FLOPs are those of dots, convolutions and library calls for them, by element type: two for each multiplication and
  addition. Sums and elementwise operations are left out, as in comparisons of models.
- Bytes are those of each array that an instruction outside a fusion reads or writes; of an array that is only sliced,
  gathered from or updated in place, the part that is touched. Arrays in the chip's fast memory (a layout with `S(…)`)
  do not count. So this is an estimate of the least that must move. Collectives count, too.
- If the host computes (`compute_on`), only the bytes to and from it are counted; it is listed in `unseen`.
- A custom kernel has the cost that its author states (`minipod.hlo.kernels`). For a kernel without a stated cost, only
  the bytes of operands and results are counted; it is listed in `unseen`, too.
- In a conditional, the costliest branch counts, separately for each figure.
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
    """The work of one device in the whole program.

    flops: element type → FLOPs. "f32×3" and "f32×6" are float32 products with precision "high" and "highest", named for
        the passes that a TPU makes for one; "kernel" are the FLOPs that custom kernels state.
    moved: bytes to and from memory. from_host, to_host: bytes read from the host's memory, and written to it.
    sent: bytes that custom kernels, by their own statement, send to other devices, outside of collectives.
    unseen: name of a custom kernel without a stated cost, whose FLOPs are missing → how often it runs.
    loops: "at most" or "once" → number of loops counted that way, because their length is unknown.
    """

    flops: dict[str, int]
    moved: int
    sent: int = 0
    unseen: dict[str, int] = field(default_factory=dict[str, int])
    loops: dict[str, int] = field(default_factory=dict[str, int])
    from_host: int = 0
    to_host: int = 0


def work(program: Program, unknown: int | None = None) -> Work:
    """Return the work of `program`.

    unknown: number of iterations to assume for loops of unknown length; loops with a known greatest length count at
    that length, and `Work.loops` counts both. None: such loops are errors. Raises ValueError, quoting the line, for
    these loops and for a line that cannot be read.
    """
    counting = _Counting(program, unknown)
    tally = counting.once(program.entry, Place())
    of = {key: {name: n for (kind, name), n in tally.items() if kind == key and n} for key in (FLOPS, UNSEEN)}
    loops = dict(Counter(counting.walker.loops.values()))
    host = tally[FROM_HOST, ""], tally[TO_HOST, ""]
    return Work(of[FLOPS], tally[MOVED, ""], tally[SENT, ""], of[UNSEEN], loops, *host)


class _Counting:
    """The work of each computation of a program, counted once, since a program may call it in many places."""

    def __init__(self, program: Program, unknown: int | None):
        self.program, self.walker = program, Walker(program, None, unknown)
        self.known: dict[tuple[str, Place, tuple[Value, ...]], Tally] = {}

    def once(self, name: str, place: Place, given: tuple[Value, ...] = ()) -> Tally:
        """Return the work of one run of the computation `name` with arguments `given`, and of all that it calls."""
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
        """Return the work of an instruction, without what it calls."""
        tally: Tally = Counter()
        if begins(line):
            if self.walker.counts(line, place) and moves(c := self.walker.collective(line, computation, place)):
                with reading(line):
                    tally[MOVED, ""] = memory.of_collective(c, computation, line, place.fused)
            return tally
        with reading(line):
            kind, count = products(computation, line)
            tally[FLOPS, kind] = count
            if not place.fused:
                tally[MOVED, ""] = memory.moved(self.program, computation, line)
                tally[FROM_HOST, ""], tally[TO_HOST, ""] = memory.of_host(computation, line)
        if this := kernel(line):
            if place.fused:
                tally[MOVED, ""] = this.moved
            tally[SENT, ""] = this.sent
            tally[UNSEEN, this.name] = this.flops is None
        return tally


def _costliest(branches: Iterable[Tally]) -> Tally:
    """Return the cost of a conditional: the products of the costliest branch, and the largest of each other figure."""
    branches = list(branches)
    most = max(branches, key=lambda one: sum(n for (kind, _), n in one.items() if kind == FLOPS), default=Counter())
    tally: Tally = Counter({key: n for key, n in most.items() if key[0] == FLOPS})
    for one in branches:
        tally |= Counter({key: n for key, n in one.items() if key[0] != FLOPS})
    return tally
