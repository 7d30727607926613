"""Describe a collective of a compiled program: operation, groups, bytes, how often it runs, and what it sends."""

import re
from dataclasses import dataclass
from fractions import Fraction

from minipod.hlo import between_slices
from minipod.hlo import groups as device_groups
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
_WHOLE_ARRAY = ("collective-permute", "collective-broadcast")
_LOOKS_LIKE_ONE = re.compile(r"(all-|reduce-scatter|collective-|ragged-)")

Branch = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Collective:
    """One collective of a compiled program.

    op: one of `OPS`. A TPU's fusion of an all-reduce with the slicing after it is a reduce-scatter.
    groups: the devices that work together, as positions in `mesh.devices.flat`; for a collective-permute, the (source,
        target) pairs.
    bytes: size of the array on each device: of the input of an all-reduce, a reduce-scatter and an all-to-all, and of
        the result of an all-gather. Tuples are summed, and a start and its done count once. A ragged-all-to-all counts
        with its whole operand, since the part that is sent is known only at run time.
    times: how often it runs, the product of the trip counts of the loops around it; None if one is unknown.
    axes: the mesh axes along which the devices of a group differ; for a permute, source and target. None without a
        mesh, or if the groups are not rows of it.
    branch: the conditionals around it, outermost first, each as (number of the conditional, number of the branch). Only
        one branch of a conditional runs.
    """

    op: str
    groups: device_groups.Groups
    bytes: int
    times: int | None = 1
    axes: tuple[str, ...] | None = None
    branch: Branch = ()

    @property
    def sent(self) -> int | float | None:
        """Return the bytes that each device sends in all `times` runs, in a ring; None if `times` is None.

        The formulas are those of `minipod.traffic.sent`; if groups are unequal, the largest counts.
        """
        return None if self.times is None else plain_number(self.sent_exactly(self.times))

    def sent_exactly(self, times: int = 1) -> Fraction:
        """Return the bytes that each device sends in `times` runs, as a fraction, so that sums are exact."""
        return ring_bytes(self.op, self.bytes, max(map(len, self.groups)), times)


def ring_bytes(op: str, size: int, devices: int, times: int = 1) -> Fraction:
    """Return the bytes that each device sends for `op` over an array of `size` bytes, in a group of `devices` devices.

    2(n-1)/n of the array for an all-reduce of n devices; (n-1)/n for an all-gather, a reduce-scatter and an all-to-all,
    ragged or not; the whole array for a permute and a broadcast.
    """
    share = Fraction(1) if op in _WHOLE_ARRAY else Fraction(devices - 1, devices) * (2 if op == "all-reduce" else 1)
    return share * size * times


def plain_number(size: Fraction) -> int | float:
    """Return an int for a whole number, else a float: to all-reduce 16 bytes, 8 devices send 28 each, 3 send 21.33…"""
    return int(size) if size.denominator == 1 else float(size)


def moves(collective: Collective) -> bool:
    """Return whether anything is sent: whether a group has several devices or a source is not its own target."""
    return any(len(set(group)) > 1 for group in collective.groups)


def begins(instruction: Instruction) -> bool:
    """Return whether `instruction` is a collective or starts one. Raises ValueError for an unknown collective."""
    opcode = instruction.opcode
    if between_slices.begins(instruction):
        return True
    if opcode in ("send", "recv") and "is_host_transfer=true" not in instruction.rest:
        raise quoted("a bare send or recv between devices is not understood", instruction.line)
    if not _LOOKS_LIKE_ONE.match(opcode) or opcode.endswith(("-done", "-update")) and opcode.rpartition("-")[0] in OPS:
        return False
    if base(opcode) not in OPS:
        raise quoted(f"the collective {opcode} is not understood", instruction.line)
    return True
