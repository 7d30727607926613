"""Devices that are not here: what a mesh and its shardings are made of while a program is traced for a slice.

They answer what JAX asks of a device before it compiles. Nothing can be put on them, and none needs libtpu; the child
that compiles has the real ones (`minipod.pods.compile_process`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from jax.sharding import AxisType, Mesh

from minipod import torus
from minipod.pods.slices import Slice, slice_of


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
    """A device of a slice, as libtpu numbers them: x first, then y, then z.

    coords: (x, y, z) of its chip. core_on_chip: which of the chip's devices it is. process_index: its host's.
    """

    id: int
    coords: tuple[int, int, int]
    core_on_chip: int
    process_index: int
    of: Slice = field(compare=True, repr=False)

    slice_index = 0

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
    """All devices of a slice, in the order of their numbers. ValueError for a name that is none."""
    found = slice_of(name)
    x, y, z = (*found.shape, 1, 1)[:3]
    wide = max(x // 2, 1)  # hosts have 2 × 2 chips
    high = max(y // 2, 1)
    return [
        Device(
            id=(i + x * (j + y * k)) * found.generation.devices + core,
            coords=(i, j, k),
            core_on_chip=core,
            process_index=i // 2 + wide * (j // 2 + high * k) if y > 1 else 0,
            of=found,
        )
        for k in range(z)
        for j in range(y)
        for i in range(x)
        for core in range(found.generation.devices)
    ]


def mesh(name: str, axis_types: Sequence[AxisType] | None = None, /, **axes: int) -> Mesh:
    """A mesh of a slice's devices, laid on its torus: `mesh("v5e:4x4", data=4, model=4)`.

    Each mesh axis takes whole axes of the torus, and walks over them so that neighbours on the mesh are neighbours on
    the torus; `minipod.torus` says how. Axes are Auto, as those of `jax.experimental.topologies.make_mesh`, unless
    `axis_types` says otherwise. (`jax.make_mesh` on real chips has the same groups where the torus leaves no choice;
    for eight chips of v5e it takes an order of its own, in which a part of such a mesh is no part of the torus.)

    ValueError for a name that is none, for sizes that do not multiply to the number of devices, and for a layout that
    the torus does not have.
    """
    found = slice_of(name)
    shape = " × ".join(map(str, axes.values())) or "no axes"
    if any(size < 1 for size in axes.values()) or np.prod([*axes.values()], dtype=int) != found.devices or not axes:
        raise ValueError(f"{found} has {found.devices} devices, and the axes {_said(axes)} multiply to {shape}")
    if found.generation.platform == "cuda":  # everybody reaches everybody
        places = np.arange(found.devices).reshape([*axes.values()])
    else:
        places = torus.layout(found.shape, found.generation.devices, axes)
    every = devices(found.name)
    types = tuple(axis_types) if axis_types else (AxisType.Auto,) * len(axes)
    grid = np.array([every[i] for i in places.flat], dtype=object).reshape(places.shape)
    return Mesh(grid, tuple(axes), axis_types=types)


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
