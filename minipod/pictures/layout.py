"""Find the part of an array that each device holds, from the sharding's `devices_indices_map`."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jax.core import Tracer
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec, Sharding

from minipod.drawing.phrases import Phrase, alt_text, devices, several
from minipod.drawing.svg import PALETTE
from minipod.ranges import counted

Part = tuple[int, int]  # start and stop in one dimension


@dataclass
class Layout:
    """The division of an array into shards.

    shape: of the whole array. kind: such as `float32[8,8]`. spec: such as `P('x', 'y')`, or "". parts: ranges of the
    shards for each dimension. axes: the mesh axes that divide each dimension. holders: index of a shard → devices,
    sorted by id.
    """

    shape: tuple[int, ...]
    kind: str
    spec: str
    parts: list[list[Part]]
    axes: list[str]
    holders: dict[tuple[int, ...], list[Any]]

    def shard(self, at: tuple[int, ...]) -> tuple[list[Any], int]:
        """Return the devices that hold the shard at index `at`, and the number of the shard's colour.

        A device has the same colour in all pictures, and a shard has the colour of its first device. If device ids
        exceed the number of colours, the order of the devices counts. If the shards exceed it, they count row by row.
        """
        first = sorted(group[0].id for group in self.holders.values())
        if at in self.holders and len(first) <= len(PALETTE):
            device = self.holders[at][0].id
            return self.holders[at], first.index(device) if first[-1] >= len(PALETTE) else device
        number = 0
        for i, parts in zip(at, self.parts, strict=True):
            number = number * len(parts) + i
        return self.holders.get(at, []), number

    def footers(self) -> list[str]:
        """Return the small print below the picture."""
        devices = sum(map(len, self.holders.values()))
        if len(self.holders) == 1 and devices > 1:
            return ["not divided: one copy on each device"]
        piece = ",".join(str(parts[0][1] - parts[0][0]) for parts in self.parts)
        return [f"each device holds {self.kind.partition('[')[0]}[{piece}]"] if self.shape and devices > 1 else []

    def alt_text(self) -> dict[str, Phrase]:
        """Return the description as phrases: the grid of shards, and what each device holds."""
        what: Phrase = ["array" if self.shape else "number", f"{self.kind} {self.spec}".rstrip()]
        everyone = devices(sorted(d.id for group in self.holders.values() for d in group))
        if not math.prod(self.shape):
            return alt_text("sharding", ["empty", what, everyone])
        if len(self.holders) == 1:
            verb = "holds" if everyone[1] == 1 else "each hold"
            return alt_text("sharding", ["colon", ["undivided", what], [verb, everyone, ["all"]]])
        grid = [" × ".join(str(len(p)) for p in self.parts)] if len(self.parts) > 1 else []
        cut = ["grid of shards" if grid else "shards", len(self.holders), what, *grid]
        each = []
        for at, group in self.holders.items():
            verb = "holds" if len(group) == 1 else "each hold"
            each.append([verb, devices([d.id for d in group]), self._where(at)])
        return alt_text("sharding", ["colon", cut, several(each)], caption=cut)

    def _where(self, at: tuple[int, ...]) -> Phrase:
        rank = len(self.shape)
        names = ["element"] if rank == 1 else ["slice"] * (rank - 2) + ["row", "column"]
        phrases = []
        for noun, index, parts in zip(names, at, self.parts, strict=True):
            start, stop = parts[index]
            if len(parts) > 1 or rank == 1:
                phrases.append([noun, stop - start, f"{start}" if stop - start == 1 else f"{start}–{stop - 1}"])
        return ["clauses", *phrases]


def layout(array_or_sharding: Any, shape: Sequence[int] | None = None) -> Layout:
    """Read a live array, or a sharding with a shape. Raises TypeError or ValueError for anything else."""
    sharding, size, dtype = _read(array_or_sharding, shape)
    spec = _spec(sharding)
    if isinstance(sharding, NamedSharding) and len(sharding.spec) > len(size):
        raise ValueError(
            f"an array of shape {size} does not fit {spec}: "
            f"it has {counted(len(size), 'dimension')}, but the spec has {len(sharding.spec)}"
        )
    if isinstance(getattr(sharding, "mesh", None), AbstractMesh):
        raise TypeError("the sharding's mesh is an AbstractMesh, which has no devices: use a Mesh")
    try:
        indices = sharding.devices_indices_map(size)
    except ValueError as error:
        raise ValueError(f"an array of shape {size} does not fit {spec or sharding}: {_first(error)}") from None
    holders: dict[tuple[Part, ...], list[Any]] = {}
    for device, index in indices.items():
        key = tuple(s.indices(n)[:2] for s, n in zip(index or (), size, strict=True))
        holders.setdefault(key, []).append(device)
    parts = [sorted({key[i] for key in holders}) for i in range(len(size))]
    places = [{part: i for i, part in enumerate(p)} for p in parts]
    numbered = {
        tuple(p[k] for p, k in zip(places, key, strict=True)): sorted(group, key=lambda d: d.id)
        for key, group in holders.items()
    }
    axes = ["" if len(p) == 1 else a for p, a in zip(parts, _axes(sharding, len(size)), strict=True)]
    kind = f"{dtype}[{','.join(map(str, size))}]"
    return Layout(size, kind, spec, parts, axes, dict(sorted(numbered.items())))


def _read(it: Any, shape: Sequence[int] | None) -> tuple[Sharding, tuple[int, ...], str]:
    """Return the sharding, the shape and the name of the dtype (empty for a bare sharding)."""
    if isinstance(it, Tracer):
        raise TypeError("a traced value has no devices: draw it outside jit, or use jax.debug.inspect_array_sharding")
    if isinstance(it, (np.ndarray, np.generic, int, float, complex, list, tuple)):
        raise TypeError(f"a value of type {type(it).__name__} is not on a device: jax.numpy.asarray puts it there")
    if isinstance(it, PartitionSpec):
        raise TypeError(f"{it} alone names no devices: give jax.sharding.NamedSharding(mesh, {it}) and a shape")
    if isinstance(it, Sharding):
        if shape is None:
            raise TypeError("a sharding alone has no shape: give the array's too, as in sharding(s, (8, 8))")
        return it, _shape(shape), ""
    sharding = getattr(it, "sharding", None)
    if not isinstance(sharding, Sharding):
        raise TypeError(f"expected a jax.Array, or a Sharding and a shape, got {type(it).__name__}")
    size = tuple(it.shape)
    if shape is not None and _shape(shape) != size:
        raise ValueError(f"the array has shape {size}, not {tuple(shape)}: leave shape out")
    return sharding, size, str(it.dtype)


def _shape(shape: Sequence[int]) -> tuple[int, ...]:
    try:
        size = tuple(int(n) for n in shape)
    except (TypeError, ValueError):
        raise TypeError(f"shape is a tuple of whole numbers such as (8, 8), not {shape!r}") from None
    if any(n < 0 for n in size):
        raise ValueError(f"no array has shape {size}: a dimension is 0 or more")
    return size


def _entries(sharding: Sharding) -> tuple[Any, ...]:
    """Return the PartitionSpec's entries; none if pmap made the sharding: the axis name is then JAX's own."""
    entries = tuple(sharding.spec) if isinstance(sharding, NamedSharding) else ()
    return () if any(isinstance(e, str) and e.startswith("_internal") for e in entries) else entries


def _spec(sharding: Sharding) -> str:
    if not isinstance(sharding, NamedSharding) or len(_entries(sharding)) != len(sharding.spec):
        return ""
    return f"P({', '.join(map(repr, sharding.spec))})"


def _axes(sharding: Sharding, rank: int) -> list[str]:
    """Return the mesh axes that divide each dimension, as `x` or `x, y`."""
    entries = [e if isinstance(e, tuple) else (e,) if isinstance(e, str) else () for e in _entries(sharding)]
    return ([", ".join(map(str, e)) for e in entries] + [""] * rank)[:rank]


def _first(error: BaseException) -> str:
    """Return the first sentence of JAX's message, on one line."""
    return " ".join(str(error).split()).partition(". ")[0][:200]
