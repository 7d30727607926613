"""Estimate how long a collective takes on an interconnect, for `minipod.traffic.seconds`."""

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from math import prod

import numpy as np

from minipod.hlo import groups as device_groups
from minipod.hlo.ops import Collective, ring_bytes
from minipod.torus import Torus, rings
from minipod.traffic import several_slices
from minipod.traffic.interconnects import LINKS, Link

__all__ = ["estimate", "least", "seconds"]


def seconds(c: Collective, link: Link, mesh: dict[str, int] | None = None, torus: Torus | None = None) -> float:
    """Return the seconds of `estimate`. Raises ValueError if that is only a lower bound."""
    time, why = estimate(c, link, mesh, torus)
    if why:
        raise ValueError(why)
    return time


def estimate(
    c: Collective, link: Link, mesh: dict[str, int] | None = None, torus: Torus | None = None
) -> tuple[float, str]:
    """Estimate the seconds of one run of `c` on `link`: max(bytes to carry / bandwidth, start + hops × latency).

    The second value is "", or a sentence that says why the first is only a lower bound.

    With b = `c.bytes`, n devices in a group (the largest counts) and w = `link.bytes_per_second`:

    - all-gather, reduce-scatter: b (n-1)/n over what reaches a device: w from a switch or a one-way ring; on a torus
      2 w for every axis that closes into a ring and w for every one that does not (its end device has one neighbour).
      A broadcast: b over the same.
    - all-reduce: a reduce-scatter and an all-gather, twice the time.
    - all-to-all: b/n times the pieces that cross the busiest link in one direction: n-1 to a switch; n(n-1)/2 on a
      one-way ring; n²/8 ((n²-1)/8 for odd n) on a closed axis of a torus, twice that in the middle of an open one; of
      several axes the worst counts. A ragged one counts as if it were full and even.
    - permute: every pair's bytes go the shorter way round, in equal parts over the axes on which the two differ; the
      busiest link counts, and the longest way gives the hops. Without `mesh` a pair count as neighbours.

    Hops: 1 to a switch (n-1 if its library sends around a ring), n-1 on a one-way ring, and on a torus the sum over the
    axes of n//2 (closed) or n-1 (open). With `torus`, the devices lie at their coordinates, and the axes are those of
    the box that a group fills. Otherwise `mesh` (axis name → size, in order) gives the axes of the torus; without it,
    or if the groups are not rows of it, a group is one axis. `minipod.torus.rings` says which axes are rings. Nothing
    else uses the links, and reducing itself takes no time.

    Only a lower bound is known if the groups are not boxes of the torus, or several of their devices share a chip: the
    bytes that each chip would send in a ring (in an all-to-all, those for other chips) over all of its links, and one
    hop.

    Over several slices, `c` is the sum of the pieces that `minipod.traffic.several_slices` makes of it; those between
    slices take the link `link.between`. Raises ValueError if no source gives its speed.

    Source: Austin et al., "How to Scale Your Model", parts 3 (all-gather over one and several axes, latency,
    all-to-all) and 12 (switches); part 3 leaves out (n-1)/n, which is about 1 for many devices.
    """
    times = [_one(c, link, mesh, torus)] if torus is None or not torus.slices else []
    for piece, crosses in several_slices.pieces(c, torus.slices) if torus and torus.slices else ():
        if crosses and link.between not in LINKS:
            raise ValueError(f"no source gives the speed of the network between slices of {link.name}")
        times.append(_one(piece, LINKS[link.between]) if crosses else _one(piece, link, mesh, torus))
    return sum(time for time, _ in times), next((why for _, why in times if why), "")


def _one(
    c: Collective, link: Link, mesh: dict[str, int] | None = None, torus: Torus | None = None
) -> tuple[float, str]:
    """Estimate as `estimate` does, inside a slice or between slices."""
    n = max(map(len, c.groups))
    if c.op == "collective-permute":
        carried, hops = _permute(c, link, list((mesh or {}).values()), torus)
        return max(carried * c.bytes / link.bytes_per_second, link.start + hops * link.latency), ""
    if torus is not None and link.shape == "torus" and (why := _no_box(c, mesh, torus)):
        return least(c, link, torus), why
    lines = _lines(c, link, mesh, torus)
    hops = sum(_hops(size, closed, link) for size, closed in lines)
    if c.op in ("all-to-all", "ragged-all-to-all"):
        transfer = max((_pieces(size, closed, link) / size for size, closed in lines), default=0) * c.bytes
    else:
        into = sum(1 + closed for _, closed in lines) or 1  # links that reach a device
        transfer = c.bytes / into * (1 if c.op == "collective-broadcast" else (n - 1) / n)
    passes = 2 if c.op == "all-reduce" else 1
    return max(passes * transfer / link.bytes_per_second, link.start + passes * hops * link.latency), ""


def _lines(c: Collective, link: Link, mesh: dict[str, int] | None, torus: Torus | None) -> list[tuple[int, bool]]:
    """Return the axes on which a group lies, each as (devices, whether it is a ring)."""
    n = max(map(len, c.groups))
    if link.shape != "torus":
        return [(n, False)]
    if torus is not None:
        return torus.lines(c.groups[0]) or []
    known = mesh is not None and c.axes is not None and prod(mesh[a] for a in c.axes) == n
    if not (known and mesh and c.axes):
        return [(n, _rings([n], link)[0])]
    closed = dict(zip(mesh, _rings([*mesh.values()], link), strict=True))
    return [(mesh[axis], closed[axis]) for axis in c.axes]


def _no_box(c: Collective, mesh: dict[str, int] | None, torus: Torus) -> str:
    """Return why the groups do not each fill a box of the torus; "" if they do."""
    lines = [torus.lines(group) for group in c.groups]
    if None in lines or len({*map(str, lines)}) > 1:
        shape = "x".join(str(size) for size in torus.shape if size > 1)
        return (
            f"the groups of this {c.op} over {_over(c, mesh)} are not boxes of the torus {shape}: its time is not known"
        )
    if prod(size for size, _ in lines[0] or []) != max(map(len, c.groups)):
        return f"devices of this {c.op} share a chip and its links: its time is not known"
    return ""


def _over(c: Collective, mesh: dict[str, int] | None) -> str:
    """`data, model`, or `part of model` if the groups are not whole rows of the mesh."""
    axes = device_groups.axes(c.groups, mesh, pairs=True) if mesh and not c.axes else None
    return f"part of {' and '.join(axes)}" if axes else ", ".join(c.axes or ("unknown axes",))


def least(c: Collective, link: Link, torus: Torus) -> float:
    """Return a lower bound in seconds: the time of the chip that has the most to send over the fewest links."""
    longest = 0.0
    for group in c.groups:
        chips = len({torus.coords[i] for i in group})
        links = min(torus.links(i) for i in group)
        if chips == 1 or not links:
            continue
        devices = len(group) // chips if c.op in ("all-to-all", "ragged-all-to-all") else 1
        transfer = float(ring_bytes(c.op, c.bytes, chips)) * devices / links
        longest = max(longest, transfer / link.bytes_per_second, link.start + link.latency)
    return longest


def _rings(sizes: Sequence[int], link: Link) -> list[bool]:
    """Return which axes of a mesh are rings if the mesh is the torus. An axis of size 1 is not one of the torus."""
    closed = iter(rings([n for n in sizes if n > 1], link.closes))
    return [n > 1 and next(closed) for n in sizes]


def _hops(size: int, closed: bool, link: Link) -> int:
    if link.shape == "switch":
        return size - 1 if link.in_a_ring else 1
    return size // 2 if closed else size - 1


def _pieces(size: int, closed: bool, link: Link) -> float:
    """Return how many of the size² pieces of an all-to-all cross its busiest link in one direction."""
    if link.shape == "switch":
        return size - 1
    if link.shape == "ring":
        return size * (size - 1) // 2
    return size * size // 4 / (2 if closed else 1)


def _permute(c: Collective, link: Link, sizes: Sequence[int], torus: Torus | None) -> tuple[float, int]:
    """Return how many of the pairs' arrays the busiest link carries one way, and the hops of the longest way."""
    if link.shape == "switch" or not (sizes or torus):
        return 1, 1
    if link.shape == "ring":
        sizes, torus = [prod(sizes)], None
    if torus:
        sizes, closed = torus.shape, list(torus.closed)
    else:
        closed = _rings(sizes, link) if link.shape == "torus" else [False] * len(sizes)
    load: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    longest = 0
    for pair in c.groups:
        start, end = (_place(device, sizes, torus) for device in pair)
        differ = [i for i, (a, b) in enumerate(zip(start, end, strict=True)) if a != b]
        ways = [_way(start, end, differ[turn:] + differ[:turn], sizes, closed, link) for turn in range(len(differ))]
        for way in ways:
            for step in way:
                load[torus.slices[pair[0]] if torus and torus.slices else 0, *step] += Fraction(1, len(ways))
        longest = max([longest, *map(len, ways)])
    return float(max(load.values(), default=Fraction(0))), longest


def _place(device: int, sizes: Sequence[int], torus: Torus | None) -> list[int]:
    return [*torus.coords[device]] if torus else [int(i) for i in np.unravel_index(device, sizes)]


def _way(
    start: list[int], end: list[int], axes: list[int], sizes: Sequence[int], closed: Sequence[bool], link: Link
) -> list[tuple[int, ...]]:
    """Return the links passed, each as (device it leaves, axis, direction), along one axis after the other."""
    at, way = list(start), []
    for axis in axes:
        size = sizes[axis]
        ahead = (end[axis] - at[axis]) % size
        if link.shape == "ring" or closed[axis]:
            direction = 1 if link.shape == "ring" or ahead <= size - ahead else -1
        else:
            direction = 1 if end[axis] > at[axis] else -1
        while at[axis] != end[axis]:
            way.append((*at, axis, direction))
            at[axis] = (at[axis] + direction) % size
    return way
