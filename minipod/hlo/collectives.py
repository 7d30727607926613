"""The collectives of a program, met by walking it from its entry as it would run."""

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from minipod.hlo import groups as who
from minipod.hlo.loops import trips
from minipod.hlo.text import Computation, Instruction, Program, quoted, size

OPS = (
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "collective-permute",
    "collective-broadcast",
    "ragged-all-to-all",
)
_LOOKS_LIKE_ONE = re.compile(r"(all-|reduce-scatter|collective-|ragged-)")
# With a channel, the numbers in these name partitions; in the others they then name whole replicas.
_BY_PARTITION = ("all-to-all", "collective-permute", "collective-broadcast", "ragged-all-to-all")

Branch = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Collective:
    """One collective of a compiled program.

    op: its name, one of `OPS`. A TPU's fused «all-reduce and keep your part» is a reduce-scatter, and called so.
    groups: who works together, as positions in the program's device order (`mesh.devices.flat`); for a
        collective-permute the (source, target) pairs.
    bytes: per device, the array worked on: what is reduced, what has been gathered, what is there before scattering
        or exchanging; tuples are summed, a start and its done count once. For a ragged-all-to-all the whole operand:
        how much of it is sent is decided only at run time.
    times: how often it runs, the product of the trip counts of the loops around it; None if one is unknown.
    axes: the mesh axes along which the devices of a group differ; for a permute, along which a source and its target
        differ. None without a mesh, or when the groups are no rows of it.
    branch: where it stands when conditionals are around it, outermost first: (which conditional, which branch).
        Only one branch of a conditional runs, so branches are alternatives.
    """

    op: str
    groups: who.Groups
    bytes: int
    times: int | None = 1
    axes: tuple[str, ...] | None = None
    branch: Branch = ()

    @property
    def sent(self) -> int | float | None:
        """Bytes that leave each device over all `times`, when the algorithm is a ring; None if `times` is.

        With g devices in a group: 2(g-1)/g of `bytes` for an all-reduce, (g-1)/g for all-gather, reduce-scatter and
        all-to-all (a ragged one as if it were even), `bytes` for a permute and a broadcast.
        An int where it is whole: 16 bytes all-reduced by 8 devices send 28, by 3 send 21.33. For unequal groups the
        largest counts.
        """
        if self.times is None:
            return None
        g = max(map(len, self.groups))
        if self.op in ("collective-permute", "collective-broadcast"):
            share = Fraction(1)
        else:
            share = Fraction(g - 1, g) * (2 if self.op == "all-reduce" else 1)
        n = share * self.bytes * self.times
        return int(n) if n.denominator == 1 else float(n)


def collectives(program: Program, mesh: Mapping[str, int] | None = None) -> list[Collective]:
    """All collectives of `program`; `mesh` (axis name → size) names their axes.

    Those in which nothing moves, every device being alone in its group or permuted to itself, are left out: whether
    they stand in the text at all differs from compiler to compiler.
    ValueError, quoting the line, for one that is not understood, or that nothing known calls.
    """
    walker = _Walker(program, mesh)
    found = [c for c in walker.walk(program.entry, 1, ()) if any(len(set(group)) > 1 for group in c.groups)]
    for name, computation in program.computations.items():
        for instruction in computation.values():
            if name not in walker.seen and begins(instruction):
                raise quoted(f"this collective stands in {name}, and nothing known calls that", instruction.line)
    return found


def begins(instruction: Instruction) -> bool:
    """Is it a collective, or the start of one? ValueError, quoting it, for what only looks like one."""
    opcode = instruction.opcode
    if opcode in ("send", "recv") and "is_host_transfer=true" not in instruction.rest:
        raise quoted("a bare send or recv between devices is not understood", instruction.line)
    if not _LOOKS_LIKE_ONE.match(opcode) or opcode.endswith(("-done", "-update")) and opcode.rpartition("-")[0] in OPS:
        return False
    if opcode.removesuffix("-start") not in OPS:
        raise quoted(f"the collective {opcode} is not understood", instruction.line)
    return True


class _Walker:
    """`walk` yields the collectives of a computation and of all that it calls; `seen` are the computations met."""

    def __init__(self, program: Program, mesh: Mapping[str, int] | None):
        self.program, self.mesh = program, mesh
        self.seen: set[str] = set()
        self.conditionals = itertools.count()
        # A TPU may start a collective in one fusion and end it in others; each of them spells it out, with the same
        # channel. It counts where the start is. (operation, channel) → the computations with the start.
        self.started: dict[tuple[str, str | None], set[str]] = {}
        for name, computation in program.computations.items():
            if any('"AsyncCollectiveStart"' in i.rest for i in computation.values()):
                for part in filter(begins, computation.values()):
                    self.started.setdefault((part.opcode, part.attributes.get("channel_id")), set()).add(name)

    def walk(self, name: str, times: int | None, branch: Branch, scattered: bool = False) -> Iterator[Collective]:
        """`name` runs `times` times. `scattered`: it is a TPU's fusion of an all-reduce with the slicing after it."""
        self.seen.add(name)
        computation = self.program.computations[name]
        ends = any('"AsyncCollectiveDone"' in i.rest for i in computation.values())
        for instruction in computation.values():
            if begins(instruction):
                starts = self.started.get((instruction.opcode, instruction.attributes.get("channel_id")))
                if ends and not starts:
                    raise quoted("the start of this asynchronous collective is not found", instruction.line)
                if not starts or name in starts:
                    yield self.collective(instruction, computation, times, branch, scattered)
            elif instruction.opcode == "while":
                known = None if times is None else trips(self.program, computation, instruction)
                around = (times or 0) * (known or 0) if known is not None else None
                # A condition is tested once more than its body runs.
                tested = around + (times or 0) if around is not None else None
                for key, n in (("condition", tested), ("body", around)):
                    for called in instruction.called(key):
                        yield from self.walk(called, n, branch)
            elif instruction.opcode == "conditional":
                this = next(self.conditionals)
                called = instruction.called("branch_computations", "true_computation", "false_computation")
                for i, alternative in enumerate(called):
                    yield from self.walk(alternative, times, (*branch, (this, i)))
            elif instruction.opcode in ("fusion", "call", "async-start", "custom-call"):
                scatters = "AllReduceScatterFusion" in instruction.rest
                for called in instruction.called("calls", "to_apply", "called_computations"):
                    yield from self.walk(called, times, branch, scatters)

    def collective(
        self, line: Instruction, computation: Computation, times: int | None, branch: Branch, scattered: bool
    ) -> Collective:
        op = line.opcode.removesuffix("-start")
        try:
            groups = self.groups(op, line)
            count = _bytes(op, line, computation, groups)
            axes = who.axes(groups, self.mesh, pairs=op == "collective-permute") if self.mesh is not None else None
        except (ValueError, KeyError) as reason:
            why = f"no {reason} before it" if isinstance(reason, KeyError) else str(reason)
            raise quoted(f"this {op} cannot be read ({why})", line.line) from None
        if scattered and op == "all-reduce":
            op = "reduce-scatter"
        return Collective(op, groups, count, times, axes, branch)

    def groups(self, op: str, line: Instruction) -> who.Groups:
        """Device positions, whatever the numbers of the text count."""
        key = "source_target_pairs" if op == "collective-permute" else "replica_groups"
        if key not in line.attributes:
            raise ValueError(f"it has no {key}")
        spelling = line.attributes[key]
        if "device_ids" in line.attributes:  # the mesh form has a comma in its middle
            spelling += f", device_ids={line.attributes['device_ids']}"
        groups = who.spelled(spelling)
        if op == "collective-permute" and not groups:
            return ()  # nobody sends; for the others no groups means everybody
        channel = "channel_id" in line.attributes
        if line.attributes.get("use_global_device_ids") == "true":
            mode = "flat"
        elif op in _BY_PARTITION:
            mode = "partition" if channel else "replica"
        else:
            mode = "both" if channel else "replica"
        return who.positions(groups, mode, self.program.replicas, self.program.partitions)


def _bytes(op: str, line: Instruction, computation: Computation, groups: who.Groups) -> int:
    """Bytes of the array worked on, from the operands: a start's own shape repeats them, in several manners."""
    if "slice_sizes" in line.attributes:
        raise ValueError("a permute of slices in place is not understood")
    # Older text has the operand's shape before its name.
    written = [operand.rpartition(" ")[0] for operand in line.operands]
    shapes = written if all(written) else [o.shape for o in computation.operands(line)]
    if op == "ragged-all-to-all":
        shapes = shapes[:1]  # the others are the output, offsets and sizes
    each = sum(map(size, shapes))
    return each * max(map(len, groups)) if op == "all-gather" else each
