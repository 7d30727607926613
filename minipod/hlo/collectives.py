"""Find the collectives of a program by walking it from its entry in the order in which it runs."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from minipod.hlo import between_slices
from minipod.hlo import groups as device_groups
from minipod.hlo.calls import base, called, callees_first, handed_over
from minipod.hlo.loops import trips
from minipod.hlo.ops import Branch, Collective, begins, moves
from minipod.hlo.scalars import Value, Values
from minipod.hlo.text import Computation, Instruction, Program, quoted, size

# With a channel, the numbers in these operations name partitions; in all others they name whole replicas.
_BY_PARTITION = ("all-to-all", "collective-permute", "collective-broadcast", "ragged-all-to-all")


def collectives(
    program: Program,
    mesh: Mapping[str, int] | None = None,
    unknown: int | None = None,
    numbers: Sequence[int] | None = None,
) -> list[Collective]:
    """Find all collectives of `program`. mesh: axis name → size, to name their axes. unknown, numbers: as for `Walker`.

    Collectives that move nothing, because every device is alone in its group or permuted to itself, are left out: some
    compilers write them and some do not. Raises ValueError, quoting the line, for a collective that cannot be read, or
    that is in a computation that nothing calls.
    """
    walker = Walker(program, mesh, unknown, numbers)
    for name, computation in program.computations.items():
        if name not in walker.reached and (lost := next(filter(begins, computation.values()), None)):
            raise quoted(f"this collective is in {name}, which no known operation calls", lost.line)
    every = walker.walk(program.entry, Place())
    return [c for c in every if moves(c)]


@dataclass(frozen=True)
class Place:
    """The context in which a computation is called.

    times: how often it runs. branch: as in `Collective`. fused: whether in a fusion. scattered: whether in a TPU's
    fusion of an all-reduce with the slicing after it. part: "start" or "done" of a TPU's asynchronous collective made
    of fusions.
    """

    times: int | None = 1
    branch: Branch = ()
    fused: bool = False
    scattered: bool = False
    part: str = ""


class Walker:
    """`walk` yields the collectives of a computation and its callees. `reached`: computations that the entry calls.

    unknown: the number of iterations to assume for loops of unknown length, or None to leave them unknown. With a
        number, a loop with a known greatest length counts at that length, and `loops` has the line of each loop whose
        count is not exact, with "at most" or "once".
    numbers: of the devices of several slices, in the mesh's order (`minipod.hlo.between_slices.numbers`). The program
        is that of one slice, and every slice runs its collectives.
    """

    def __init__(
        self,
        program: Program,
        mesh: Mapping[str, int] | None,
        unknown: int | None = None,
        numbers: Sequence[int] | None = None,
    ):
        self.program, self.mesh, self.unknown, self.numbers = program, mesh, unknown, numbers
        self.loops: dict[str, str] = {}
        self.values = Values(program)
        self.conditionals = itertools.count()
        self.reached: set[str] = set()
        self.holding: set[str] = set()  # computations with a collective, here or in what they call
        # A TPU may start a collective in one fusion and end it in others, each of which contains it, with the same
        # channel. It counts at its start.
        self.started: set[tuple[str, str | None]] = set()
        for name in callees_first(program, program.entry):
            self.reached.add(name)
            computation = program.computations[name]
            begun = [i for i in computation.values() if begins(i)]
            below = (called(program, computation, i).values() for i in computation.values())
            if begun or any(callee in self.holding for calls in below for names in calls for callee in names):
                self.holding.add(name)
            if part_of(computation) == "start":
                for inner in callees_first(program, name):
                    self.started |= {_channel(i) for i in program.computations[inner].values() if begins(i)}

    def walk(self, name: str, place: Place, arguments: tuple[Value, ...] = ()) -> Iterator[Collective]:
        """Yield the collectives of the computation `name`, called with `arguments`, in the order of the text."""
        computation, here = self.program.computations[name], self.values.of(name, arguments)
        place = replace(place, part=part_of(computation) or place.part)
        for instruction in computation.values():
            if begins(instruction):
                if self.counts(instruction, place):
                    yield self.collective(instruction, computation, place)
            else:
                for callee, inside, given in self.calls(computation, instruction, place, here):
                    if callee in self.holding:
                        yield from self.walk(callee, inside, given)

    def calls(
        self, computation: Computation, line: Instruction, place: Place, here: dict[str, Value]
    ) -> Iterator[tuple[str, Place, tuple[Value, ...]]]:
        """Yield the computations that `line` calls, with their contexts and, if they matter, arguments."""
        calls = called(self.program, computation, line)
        if base(line.opcode) == "while":
            known = self.turns(computation, line, here)
            around = None if known is None or place.times is None else place.times * known
            # A condition is tested once more than its body runs.
            tested = None if around is None else around + (place.times or 0)
            for key, names in calls.items():
                times = {"condition": tested, "body": around}.get(key)
                yield from ((callee, replace(place, times=times), ()) for callee in names)
        elif base(line.opcode) == "conditional":
            this = next(self.conditionals)
            in_order = sorted(calls, key=lambda key: key == "false_computation")
            for i, callee in enumerate(callee for key in in_order for callee in calls[key]):
                yield callee, replace(place, branch=(*place.branch, (this, i))), ()
        else:
            fused = place.fused or base(line.opcode) == "fusion"
            scattered = place.scattered or "AllReduceScatterFusion" in line.rest
            given = tuple(here.get(name) for name in handed_over(computation, line))
            for key, names in calls.items():
                times = place.times
                if key in ("condition", "body"):  # an operation with a body is a loop, whatever its name
                    known = self.guessed(line, None)
                    times = None if known is None or times is None else times * known
                inside = replace(place, times=times, fused=fused, scattered=scattered)
                yield from ((callee, inside, given) for callee in names)

    def turns(self, computation: Computation, line: Instruction, here: dict[str, Value]) -> int | None:
        """Return the number of iterations of a `while`, known or assumed."""
        known = trips(self.values, computation, line, here)
        return self.guessed(line, trips(self.values, computation, line, here, most=True)) if known is None else known

    def guessed(self, line: Instruction, most: int | None) -> int | None:
        """Return the number of iterations to assume for a loop of unknown length: `most` unless it is None."""
        if self.unknown is None:
            return None
        self.loops[line.line] = "once" if most is None else "at most"
        return self.unknown if most is None else most

    def counts(self, line: Instruction, place: Place) -> bool:
        """Return whether this collective begins here, rather than continuing one that was started in another fusion."""
        if place.fused and _channel(line) in self.started:
            return place.part == "start"
        if place.part == "done":
            raise quoted("the start of this asynchronous collective cannot be found", line.line)
        return True

    def collective(self, line: Instruction, computation: Computation, place: Place) -> Collective:
        op, crosses = base(line.opcode), between_slices.begins(line)
        try:
            op = between_slices.operation(line) if crosses else op
            groups = between_slices.groups(line, self.devices, self.numbers) if crosses else self.groups(op, line)
            count = _bytes(op, line, computation, groups)
            axes = (
                device_groups.axes(groups, self.mesh, pairs=op == "collective-permute")
                if self.mesh is not None
                else None
            )
        except (ValueError, KeyError) as reason:
            why = f"no {reason} before it" if isinstance(reason, KeyError) else str(reason)
            raise quoted(f"this {op} cannot be read ({why})", line.line) from None
        if place.scattered and op == "all-reduce":
            op = "reduce-scatter"
        return Collective(op, groups, count, place.times, axes, place.branch)

    def groups(self, op: str, line: Instruction) -> device_groups.Groups:
        """Return the groups as positions of devices, whatever kind of numbers the text has."""
        key = "source_target_pairs" if op == "collective-permute" else "replica_groups"
        if key not in line.attributes:
            raise ValueError(f"it has no {key}")
        spelling = line.attributes[key]
        if "device_ids" in line.attributes:  # the mesh form has a comma in its middle
            spelling += f", device_ids={line.attributes['device_ids']}"
        groups = device_groups.spelled(spelling)
        if op == "collective-permute" and not groups:
            return ()  # no pair sends; for other operations, no groups means one group of all
        channel = "channel_id" in line.attributes
        if line.attributes.get("use_global_device_ids") == "true":
            mode = "flat"
        elif op in _BY_PARTITION:
            mode = "partition" if channel else "replica"
        else:
            mode = "both" if channel else "replica"
        by_position = device_groups.positions(groups, mode, self.program.replicas, self.program.partitions)
        slices = len(self.numbers) // self.devices if self.numbers else 1
        return tuple(tuple(i + part * self.devices for i in group) for part in range(slices) for group in by_position)

    @property
    def devices(self) -> int:
        """Return the number of devices of the program; with several slices, of one slice."""
        return self.program.replicas * self.program.partitions


def part_of(computation: Computation) -> str:
    """Return "start" or "done" if `computation` is that part of a TPU's asynchronous collective, otherwise ""."""
    text = [i.rest for i in computation.values() if i.opcode == "custom-call"]
    return next((part for part in ("start", "done") if any(f'"AsyncCollective{part.title()}"' in t for t in text)), "")


def _channel(line: Instruction) -> tuple[str, str | None]:
    return base(line.opcode), line.attributes.get("channel_id")


def _bytes(op: str, line: Instruction, computation: Computation, groups: device_groups.Groups) -> int:
    """Return the bytes of the array, from the operands: the shape of a start repeats them in different ways."""
    if "slice_sizes" in line.attributes:
        raise ValueError("slice_sizes is not supported")
    if not line.operands:
        raise ValueError("it has no operands")
    # Older text has the operand's shape before its name.
    written = [operand.rpartition(" ")[0] for operand in line.operands]
    shapes = written if all(written) else [o.shape for o in computation.operands(line)]
    if op == "ragged-all-to-all":
        shapes = shapes[:1]  # the others are the output, offsets and sizes
    each = sum(map(size, shapes))
    return each * max(map(len, groups)) if op == "all-gather" else each
