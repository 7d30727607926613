"""Lay mesh axes on the axes of a torus.

A collective along a mesh axis is fast if its devices form a box of the torus (all chips in a range of x, of y and of
z), because then no other group uses the links between them. Devices that lie apart share links with other groups, and
the simple formulas of `minipod.traffic` do not hold for them.

    >>> from minipod import torus
    >>> torus.layout((2, 4), cores=1, axes=(4, 2))
    array([[0, 1],
           [2, 3],
           [4, 5],
           [6, 7]])
    >>> torus.layout((4, 4), cores=1, axes=(2, 8)) is None  # no line has 8 chips
    True
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

__all__ = ["Torus", "box", "devices_of", "layout", "layouts", "said", "torus_of"]


def layout(shape: Sequence[int], cores: int, axes: Sequence[int]) -> np.ndarray | None:
    """Return the number of the device at each place of the mesh, int[sizes of axes], or None without such a layout.

    shape: chips of the torus along x, y (and z). cores: devices per chip. axes: sizes of the mesh axes. Each mesh axis
    takes whole axes of the torus (the devices of a chip count as one more axis); if there are several ways, the first
    mesh axis takes the first torus axes.
    """
    sizes = [*shape, cores][: len(shape) + (cores > 1)]
    x, y = shape[:2]
    i, j, *rest = np.indices(sizes)
    deep = rest.pop(0) if len(shape) > 2 else 0
    numbers = (i + x * (j + y * deep)) * cores + (rest[0] if rest else 0)
    for taken in _ways(len(sizes), len(axes)):
        if [prod(sizes[a] for a in group) for group in taken] == [*axes]:
            grid = numbers.transpose([a for group in taken for a in group]).reshape([*axes])
            return grid[np.ix_(*(_walk([sizes[a] for a in group]) for group in taken))]
    return None


def layouts(shape: Sequence[int], cores: int, axes: Sequence[str]) -> list[dict[str, int]]:
    """Return all meshes with these axis names in which each mesh axis takes whole axes of the torus: axis name → size.

    They are sorted by the size of the first axis, the largest first.
    """
    sizes = [*shape, cores][: len(shape) + (cores > 1)]
    products = {tuple(prod(sizes[a] for a in group) for group in way) for way in _ways(len(sizes), len(axes))}
    return [dict(zip(axes, each, strict=True)) for each in sorted(products, reverse=True)]


def box(coords: Sequence[Sequence[int]], shape: Sequence[int]) -> tuple[int, ...] | None:
    """Return the side lengths of the box that the chips at `coords` fill, one per entry of `shape`; None without a box.

    Devices at the same place (the cores of a chip) count once: `box([(0, 0), (1, 0), (1, 0)], (4, 4))` is (2, 1).
    """
    places = {tuple(c[: len(shape)]) for c in coords}
    sides = tuple(max(p[i] for p in places) - min(p[i] for p in places) + 1 for i in range(len(shape)))
    return sides if prod(sides) == len(places) else None


@dataclass(frozen=True)
class Torus:
    """The torus on which a mesh lies, or several equal ones.

    shape: chips along x, y (and z). closed: whether each of these axes is a ring. coords: those of each device's chip,
    in the order of `mesh.devices.flat`. slices: the number of each device's torus, in the same order; empty if there is
    one torus.
    """

    shape: tuple[int, ...]
    closed: tuple[bool, ...]
    coords: tuple[tuple[int, ...], ...]
    slices: tuple[int, ...] = ()

    def lines(self, group: Sequence[int]) -> list[tuple[int, bool]] | None:
        """Return the sides above 1 of the box that a group fills, as (chips, whether a ring); None without a box."""
        sides = box([self.coords[i] for i in group], self.shape)
        if sides is None:
            return None
        whole = zip(sides, self.shape, self.closed, strict=True)
        return [(n, closed and n == size) for n, size, closed in whole if n > 1]

    def links(self, device: int) -> int:
        """Return the number of links of a device's chip."""
        places = zip(self.coords[device], self.shape, self.closed, strict=False)
        return sum(2 if closed else (at > 0) + (at < size - 1) for at, size, closed in places)


def torus_of(mesh: Any, closes: int) -> Torus | None:
    """Return the torus of a mesh of TPUs, real ones or those of `minipod.pods.mesh`; None for other devices.

    closes: as in `minipod.traffic.Link`: 16 for v5e and v6e, where an axis of 16 is a ring; 4 for v4, v5p and 7x, whose
    rings come with whole cubes of 4 × 4 × 4, so that all axes are rings or none. Source: "How to Scale Your Model",
    part 2, on TPU networking. A part of a slice is treated as a whole slice if it is a box with a corner at the origin,
    and as a slice without rings otherwise.
    """
    devices = devices_of(mesh)
    if not devices or not all(getattr(device, "platform", "") == "tpu" for device in devices):
        return None
    coords = tuple(tuple(device.coords) for device in devices)
    shape = tuple(max(c[i] for c in coords) + 1 for i in range(len(coords[0])))
    closed = rings(shape, closes) if prod(shape) == len({*coords}) else [False] * len(shape)
    slices = tuple(getattr(device, "slice_index", 0) or 0 for device in devices)
    return Torus(shape, tuple(closed), coords, slices if len({*slices}) > 1 else ())


def devices_of(mesh: Any) -> list[Any]:
    """Return the devices of `mesh`, in mesh order; [] for an AbstractMesh or None."""
    try:
        return [*mesh.devices.flat]
    except (AttributeError, ValueError):
        return []


def rings(shape: Sequence[int], closes: int) -> list[bool]:
    """Return which axes of a torus of `shape` are rings. closes: as for `torus_of`. Two devices are not a ring."""
    if closes == 4:
        return [all(n % 4 == 0 for n in shape)] * len(shape)
    return [n > 2 and n % closes == 0 for n in shape]


def said(lines: Sequence[tuple[int, bool]]) -> str:
    """Describe the sides of a box in words, such as `4 × ring of 16`."""
    return " × ".join(f"ring of {n}" if closed else str(n) for n, closed in lines) or "one chip"


def _walk(sizes: Sequence[int]) -> list[int]:
    """Return the places of a box, each next to the one before: out along one line, back along the next."""
    if not sizes:
        return [0]
    rest = _walk(sizes[1:])
    below = prod(sizes[1:])
    return [i * below + j for i in range(sizes[0]) for j in (rest if i % 2 == 0 else rest[::-1])]


def _ways(dimensions: int, axes: int) -> list[list[list[int]]]:
    """Return all ways to assign the torus's axes to mesh axes: for each mesh axis, a list of torus axes."""
    return [
        [[d for d in range(dimensions) if owners[d] == axis] for axis in range(axes)]
        for owners in itertools.product(range(axes), repeat=dimensions)
    ]
