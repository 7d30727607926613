"""Describe the devices of a slice that you do not have, so that a program can be traced with meshes of them.

The devices have the attributes that JAX reads before it compiles. They cannot hold arrays and do not need libtpu; the
child process that compiles has libtpu's own devices (`minipod.pods.compile_process`).
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from jax.experimental import mesh_utils
from jax.sharding import AxisType, Mesh

from minipod import torus
from minipod.pods.slices import MOST, Slice, slice_of
from minipod.ranges import counted


@dataclass(frozen=True)
class _Client:
    """The attributes that JAX reads from a device's client."""

    platform: str
    platform_version: str = "not here"
    runtime_type: str = "none"

    def process_index(self) -> int:
        return 0

    def device_count(self) -> int:
        return 0


@dataclass(frozen=True)
class Device:
    """A device of a slice that you do not have.

    id: as in libtpu, along x first, then y, then z; of several slices, from 100000 in the first, 200000 in the second.
    coords: (x, y, z) of the device's chip in its slice. core_on_chip: number on that chip. process_index: number of the
    device's host, counted from the first slice on.
    """

    id: int
    coords: tuple[int, int, int]
    core_on_chip: int
    process_index: int
    of: Slice = field(compare=True, repr=False)
    slice_index: int = 0

    @property
    def platform(self) -> str:
        return "gpu" if self.of.generation.platform == "cuda" else "tpu"

    @property
    def client(self) -> _Client:
        return _Client(self.platform)

    @property
    def device_kind(self) -> str:
        return self.of.generation.kind

    @property
    def num_cores(self) -> int:
        return 1

    def __repr__(self) -> str:
        return f"{self.platform.upper()}_{self.id}({','.join(map(str, self.coords))})"


def devices(name: str) -> list[Device]:
    """Return all devices of one or several slices, ordered by number. Raises ValueError for an unknown name."""
    of = slice_of(name)
    x, y, z = (*of.shape, 1, 1)[:3]
    wide = max(x // 2, 1)  # a host has 2 × 2 chips
    high = max(y // 2, 1)
    hosts = wide * high * z if y > 1 else 1
    every = []
    for part, k, j, i in itertools.product(range(of.count), range(z), range(y), range(x)):
        chip = i + x * (j + y * k)
        first = MOST * (part + 1) if of.count > 1 else 0
        host = part * hosts + (i // 2 + wide * (j // 2 + high * k) if y > 1 else 0)
        for core in range(of.generation.devices):
            every.append(Device(first + chip * of.generation.devices + core, (i, j, k), core, host, of, part))
    return every


def mesh(name: str, axis_types: Sequence[AxisType] | None = None, /, **axes: int) -> Mesh:
    """Make a mesh of a slice's devices, laid out on its torus: `mesh("v5e:4x4", data=4, model=4)`.

    axis_types: types of the axes; default Auto for all, as in `jax.experimental.topologies.make_mesh`.

    If each mesh axis can take whole axes of the torus, neighbours on the mesh are neighbours on the torus;
    `minipod.torus` has the rule. (`jax.make_mesh` on real chips forms the same groups where the torus leaves no choice;
    for eight chips of v5e it has its own order, in which some rows are not boxes of the torus.) Other sizes,
    such as data=8, model=2, are laid out as by
    `jax.experimental.mesh_utils.create_device_mesh(…, allow_split_physical_axes=True)`. Then the groups along an axis
    may not be boxes of the torus, and the time of their collectives has only a lower bound.

    If there are several slices, such as `2xv5e:4x4`, the first axes cross them: those whose sizes multiply to the
    number of slices. The last of these may cross with part of its size: with data=8, model=4, data covers two slices
    and 4 chips in each.

    Raises ValueError for an unknown name, for sizes that do not multiply to the number of devices, and if no axes can
    cross the slices.
    """
    of = slice_of(name)
    if not axes:
        raise ValueError(f"{of} has {counted(of.devices, 'device')}: name the axes")
    if min(axes.values()) < 1:
        raise ValueError(f"{_written(axes)}: each size must be at least 1")
    if (product := math.prod(axes.values())) != of.devices:
        have = f"{of} has {counted(of.devices, 'device')}"
        raise ValueError(f"{have}, but the product of {_written(axes)} is {product}")
    inside = {axis: size // over for (axis, size), over in zip(axes.items(), crossing(of, axes), strict=True)}
    every = np.array(devices(of.name), dtype=object).reshape(of.count, -1)
    parts = [_laid(of, part, inside) for part in every]
    types = tuple(axis_types) if axis_types else (AxisType.Auto,) * len(axes)
    return Mesh(np.stack(parts).reshape([*axes.values()]), tuple(axes), axis_types=types)


def crossing(on: Slice, axes: Mapping[str, int]) -> list[int]:
    """Return the number of slices that each axis crosses: `[2, 1]` for data=8, model=4 on two slices.

    Raises ValueError if the first axes do not multiply to the number of slices, or to a multiple of it.
    """
    over, left = [], on.count
    for size in axes.values():
        if size % left and left % size:
            raise ValueError(
                f"{_written(dict(axes))} cannot be laid out on {on}: with {left} slices left to cover, an axis of "
                f"{size} must divide {left} or be a multiple of it"
            )
        over.append(min(size, left))
        left //= over[-1]
    return over


def _laid(on: Slice, every: np.ndarray, axes: Mapping[str, int]) -> np.ndarray:
    """Return the devices of one slice, given in the order of their numbers, as the array of a mesh."""
    sizes = [*axes.values()]
    if on.generation.platform == "cuda":  # every GPU reaches every other
        return every.reshape(sizes)
    places = torus.layout(on.shape, on.generation.devices, sizes)
    if places is None:
        return mesh_utils.create_device_mesh(sizes, [*every], allow_split_physical_axes=True)
    return every[places]


def mesh_of(name: str, numbers: Sequence[int], axes: Mapping[str, int]) -> Mesh:
    """Make a mesh of the devices of a slice that have these numbers, in this order."""
    every = {device.id: device for device in devices(name)}
    grid = np.array([every[i] for i in numbers], dtype=object).reshape([*axes.values()])
    return Mesh(grid, tuple(axes), axis_types=(AxisType.Auto,) * len(axes))


def slice_of_mesh(mesh: Any) -> Slice | None:
    """Return the slice to which the devices of `mesh` belong; None for other devices."""
    if not isinstance(mesh, jax.sharding.Mesh):
        return None
    first = next(iter(mesh.devices.flat), None)
    return first.of if isinstance(first, Device) else None


def _written(axes: dict[str, int]) -> str:
    return ", ".join(f"{name}={size}" for name, size in axes.items()) or "(none)"
