"""What a collective of a compiled program is: what it does, who works together, how many bytes, how often."""

import re
from dataclasses import dataclass
from fractions import Fraction

from minipod.hlo import groups as who
from minipod.hlo import ring
from minipod.hlo.calls import base
from minipod.hlo.text import Instruction, quoted

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

        `minipod.traffic.sent` says how much. For unequal groups the largest counts.
        """
        return None if self.times is None else ring.plain(self.sent_exactly(self.times))

    def sent_exactly(self, times: int = 1) -> Fraction:
        """Bytes that leave each device over so many times, as a fraction: sums of it are exact."""
        return ring.exactly(self.op, self.bytes, max(map(len, self.groups)), times)


def moves(collective: Collective) -> bool:
    """Is there a group of several devices, or a pair that is not twice the same?"""
    return any(len(set(group)) > 1 for group in collective.groups)


def begins(instruction: Instruction) -> bool:
    """Is it a collective, or the start of one? ValueError, quoting it, for what only looks like one."""
    opcode = instruction.opcode
    if opcode in ("send", "recv") and "is_host_transfer=true" not in instruction.rest:
        raise quoted("a bare send or recv between devices is not understood", instruction.line)
    if not _LOOKS_LIKE_ONE.match(opcode) or opcode.endswith(("-done", "-update")) and opcode.rpartition("-")[0] in OPS:
        return False
    if base(opcode) not in OPS:
        raise quoted(f"the collective {opcode} is not understood", instruction.line)
    return True
