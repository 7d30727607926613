"""Devices that are not here: what a mesh and its shardings are made of while a program is traced for a slice.

They answer what JAX asks of a device before it compiles. Nothing can be put on them, and none needs libtpu; the child
that compiles has the real ones (`minipod.pods.compile_process`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from jax.experimental import mesh_utils
from jax.sharding import AxisType, Mesh

from minipod import torus
from minipod.pods.slices import MOST, Slice, slice_of


@dataclass(frozen=True)
class _Client:
    """What JAX asks a device's client."""

    platform: str
    platform_version: str = "not here"
    runtime_type: str = "none"

    def process_index(self) -> int:
        return 0

    def device_count(self) -> int:
        return 0


@dataclass(frozen=True)
class Device:
    """A device of a slice, as libtpu numbers them: x first, then y, then z; of several slices, the first's from 100000,
    the second's from 200000.

    coords: (x, y, z) of its chip in its slice. core_on_chip: which of the chip's devices it is. process_index: its
    host's, those of the first slice first.
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
    """All devices of a slice, or of several, in the order of their numbers. ValueError for a name that is none."""
    found = slice_of(name)
    x, y, z = (*found.shape, 1, 1)[:3]
    wide = max(x // 2, 1)  # hosts have 2 × 2 chips
    high = max(y // 2, 1)
    hosts = wide * high * z if y > 1 else 1
    return [
        Device(
            id=(i + x * (j + y * k)) * found.generation.devices + core + (MOST * (part + 1) if found.count > 1 else 0),
            coords=(i, j, k),
            core_on_chip=core,
            process_index=part * hosts + (i // 2 + wide * (j // 2 + high * k) if y > 1 else 0),
            of=found,
            slice_index=part,
        )
        for part in range(found.count)
        for k in range(z)
        for j in range(y)
        for i in range(x)
        for core in range(found.generation.devices)
    ]


def mesh(name: str, axis_types: Sequence[AxisType] | None = None, /, **axes: int) -> Mesh:
    """A mesh of a slice's devices, laid on its torus: `mesh("v5e:4x4", data=4, model=4)`.

    Where each mesh axis can take whole axes of the torus, it walks over them so that neighbours on the mesh are
    neighbours on the torus; `minipod.torus` says how. (`jax.make_mesh` on real chips has the same groups where the
    torus leaves no choice; for eight chips of v5e it takes an order of its own, in which a part of such a mesh is no
    part of the torus.) Other sizes, such as data=8, model=2, are laid as JAX lays them,
    `jax.experimental.mesh_utils.create_device_mesh(…, allow_split_physical_axes=True)`: then the groups along some axis
    may be no boxes, and there is only a lower bound for the time of their collectives.

    Of several slices, such as `2xv5e:4x4`, the first axes cross: those whose sizes multiply to the number of slices.
    The last of them may do so with a part of it: data=8, model=4 has data over two slices, and over 4 chips in each.

    Axes are Auto, as those of `jax.experimental.topologies.make_mesh`, unless `axis_types` says otherwise. ValueError
    for a name that is none, for sizes that do not multiply to the number of devices, and where no axes cross slices.
    """
    found = slice_of(name)
    shape = " × ".join(map(str, axes.values())) or "no axes"
    if any(size < 1 for size in axes.values()) or np.prod([*axes.values()], dtype=int) != found.devices or not axes:
        raise ValueError(f"{found} has {found.devices} devices, and the axes {_said(axes)} multiply to {shape}")
    inside = {axis: size // over for (axis, size), over in zip(axes.items(), crossing(found, axes), strict=True)}
    every = np.array(devices(found.name), dtype=object).reshape(found.count, -1)
    parts = [_laid(found, part, inside) for part in every]
    types = tuple(axis_types) if axis_types else (AxisType.Auto,) * len(axes)
    return Mesh(np.stack(parts).reshape([*axes.values()]), tuple(axes), axis_types=types)


def crossing(on: Slice, axes: Mapping[str, int]) -> list[int]:
    """Over how many slices each axis goes: `[2, 1]` for two slices and data=8, model=4; all 1 where there is one slice.

    ValueError where the first axes do not multiply to the number of slices, or to a multiple of it.
    """
    over, left = [], on.count
    for size in axes.values():
        if size % left and left % size:
            raise ValueError(
                f"{_said(dict(axes))} cannot be laid on {on}: the first axes go over its {on.count} slices, and of "
                f"{size} and {left} neither divides the other"
            )
        over.append(min(size, left))
        left //= over[-1]
    return over


def _laid(on: Slice, every: np.ndarray, axes: Mapping[str, int]) -> np.ndarray:
    """The devices of one slice, in the order of their numbers, in the places of a mesh."""
    sizes = [*axes.values()]
    if on.generation.platform == "cuda":  # everybody reaches everybody
        return every.reshape(sizes)
    places = torus.layout(on.shape, on.generation.devices, sizes)
    if places is None:
        return mesh_utils.create_device_mesh(sizes, [*every], allow_split_physical_axes=True)
    return every[places]


def mesh_of(name: str, numbers: Sequence[int], axes: Mapping[str, int]) -> Mesh:
    """The mesh of a slice's devices of these numbers, in this order."""
    every = devices(name)
    grid = np.array([every[i] for i in numbers], dtype=object).reshape([*axes.values()])
    return Mesh(grid, tuple(axes), axis_types=(AxisType.Auto,) * len(axes))


def slice_of_mesh(mesh: Any) -> Slice | None:
    """The slice that a mesh's devices are of; None for a mesh of other devices."""
    if not isinstance(mesh, jax.sharding.Mesh):
        return None
    first = next(iter(mesh.devices.flat), None)
    return first.of if isinstance(first, Device) else None


def _said(axes: dict[str, int]) -> str:
    return ", ".join(f"{name}={size}" for name, size in axes.items()) or "(none)"
