"""Divide a collective over several slices into parts on each slice's links and on the network between slices."""

from dataclasses import replace

from minipod.hlo.groups import Groups
from minipod.hlo.ops import Collective

__all__ = ["pieces"]


def pieces(c: Collective, slices: tuple[int, ...]) -> list[tuple[Collective, bool]]:
    """Return the collectives into which `c` is divided, in order, each with whether it crosses slices.

    slices: the slice of each device. A group with m devices in each of s slices forms rows of m devices in a slice, and
    rows of s devices with the same place in each slice. For an array of b bytes per device:

    - all-reduce: reduce-scatter of b inside, all-reduce of b/m between, all-gather of b inside
    - reduce-scatter: of b inside, then of b/m between; all-gather: of b/m between, then of b inside
    - all-to-all: of b between, then of b inside; a broadcast likewise
    - permute: the pairs inside a slice, then those that cross

    libtpu's programs are divided in this way. Between slices, all m devices send their parts at the same time.
    Raises ValueError if a group does not have the same number of devices in each of its slices.
    """
    if c.op == "collective-permute":
        cross = tuple(pair for pair in c.groups if slices[pair[0]] != slices[pair[1]])
        inside = tuple(pair for pair in c.groups if pair not in {*cross})
        return [(replace(c, groups=pairs), pairs is cross) for pairs in (inside, cross) if pairs]
    inside = tuple(row for group in c.groups for row in _by_slice(group, slices))
    m = len(inside[0])
    if {*map(len, inside)} != {m}:
        raise ValueError(
            f"the groups of this {c.op} do not have the same number of devices in each slice: its time is not known"
        )
    between: Groups = tuple(row for group in c.groups for row in zip(*_by_slice(group, slices), strict=True))
    if len(between[0]) == 1:
        return [(c, False)]

    def piece(op: str, groups: Groups, size: int) -> list[tuple[Collective, bool]]:
        return [(replace(c, op=op, groups=groups, bytes=size), groups is between)] if len(groups[0]) > 1 else []

    if c.op == "all-reduce":
        scattered, gathered = piece("reduce-scatter", inside, c.bytes), piece("all-gather", inside, c.bytes)
        return scattered + piece("all-reduce", between, c.bytes // m) + gathered
    if c.op == "reduce-scatter":
        return piece(c.op, inside, c.bytes) + piece(c.op, between, c.bytes // m)
    size = c.bytes // m if c.op == "all-gather" else c.bytes
    return piece(c.op, between, size) + piece(c.op, inside, c.bytes)


def _by_slice(group: tuple[int, ...], slices: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [tuple(i for i in group if slices[i] == part) for part in sorted({slices[i] for i in group})]
