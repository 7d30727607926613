"""Draw the devices of a mesh at their places, and the shards of an array."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jax.sharding import AbstractMesh, Mesh

from minipod.drawing.grids import Cell, Grid, draw, header_line
from minipod.drawing.phrases import Phrase, alt_text, devices, few, several
from minipod.drawing.svg import Canvas, Picture
from minipod.pictures.layout import layout

# More than these are drawn as the first ones, an ellipsis and the last
PANELS, ROWS, COLUMNS = 8, 12, 8
FEWER = (4, 4, 4)  # the same where several panels would show more than `CELLS` together
CELLS = 64


def mesh(mesh: Mesh) -> Picture:
    """Draw the devices of `mesh` at their positions on its last two axes, a panel for each index of the others.

    Raises TypeError for an AbstractMesh, which has no devices; ValueError for an empty mesh.
    """
    checked(mesh)
    return draw(grids(mesh), [], [], _alt_text(mesh), 0.0)


def checked(mesh: Any) -> None:
    """Raise TypeError or ValueError unless `mesh` is a mesh with devices."""
    if isinstance(mesh, AbstractMesh):
        raise TypeError("an AbstractMesh has no devices to draw: give a Mesh, such as jax.make_mesh returns")
    if not isinstance(mesh, Mesh):
        raise TypeError(f"expected a Mesh, such as jax.make_mesh returns, got {type(mesh).__name__}")
    if mesh.devices.size == 0 or not mesh.axis_names:
        raise ValueError("this mesh has no axes or no devices: give one such as jax.make_mesh((8,), ('x',))")


def grids(mesh: Mesh) -> list[Grid | None]:
    """Return the panels that show the devices of `mesh` in their places."""
    names = [str(n) for n in mesh.axis_names]
    places = mesh.devices.reshape((1,) * (2 - mesh.devices.ndim) + mesh.devices.shape)
    flat = len(names) == 1
    panels: list[Grid | None] = []
    leads, rows, columns = _shown(places.shape)
    for lead in leads:
        if lead is None:
            panels.append(None)
            continue
        panels.append(
            Grid(
                lambda r, c, at=lead: Cell([places[(*at, r, c)]]),
                rows,
                columns,
                "" if flat else f"axis {names[-2]}",
                f"axis {names[-1]}",
                (lambda r: "") if flat else str,
                str,
                ", ".join(f"{n} = {i}" for n, i in zip(names, lead, strict=False)),
            )
        )
    return panels


def _alt_text(mesh: Mesh) -> dict[str, Phrase]:
    ids = [d.id for d in mesh.devices.flat]
    head = ["mesh", ["count", len(ids)], " × ".join(f"{n}: {s}" for n, s in mesh.shape.items())]
    if mesh.devices.ndim == 1:
        return alt_text("mesh", ["colon", head, ["in order", devices(ids)]])
    indices = np.ndindex(mesh.devices.shape)
    places = [["place", f"({', '.join(map(str, at))})", devices([i])] for at, i in zip(indices, ids, strict=True)]
    return alt_text("mesh", ["colon", head, ["at", several(places, 16)]], caption=head)


def sharding(array_or_sharding: Any, shape: Sequence[int] | None = None) -> Picture:
    """Draw the parts of an array, each shard in its own colour; its cell names all devices with a copy.

    array_or_sharding: a jax.Array (or a ShapeDtypeStruct with a sharding) of any rank; or a Sharding, with the array's
    `shape`. From rank 3 on, there is a panel for each shard of the leading dimensions.
    Raises TypeError for values that are not on devices (a NumPy array, a traced value, a PartitionSpec); ValueError for
    a shape that the sharding does not divide.
    """
    it = layout(array_or_sharding, shape)
    if not math.prod(it.shape):
        canvas = Canvas()
        header_line(canvas, 0, [it.kind, it.spec])
        canvas.rect(0, 26, 300, 44, "box", 6)
        canvas.text(150, 48, "no elements: no device holds any", "soft")
        return canvas.picture(it.alt_text())
    rank = len(it.shape)
    parts = [[(0, 1)]] * (2 - rank) + it.parts
    names = ["elements"] if rank == 1 else ["slices"] * (rank - 2) + ["rows", "columns"]
    shown = [f"{word} over {a}" if a else word if rank < 3 else "" for word, a in zip(names, it.axes, strict=False)]
    row_name, column_name = ([""] * (2 - rank) + shown if rank else ["", ""])[-2:]
    row_tick, column_tick = (_ticks(p, bool(n)) for p, n in zip(parts[-2:], (row_name, column_name), strict=True))
    panels: list[Grid | None] = []
    leads, down, across = _shown(tuple(map(len, parts)))
    for lead in leads:
        if lead is None:
            panels.append(None)
            continue
        title = ", ".join(f"{p[i][0]}:{p[i][1]}" for p, i in zip(parts, lead, strict=False))
        panels.append(
            Grid(
                lambda r, c, at=lead: Cell(*it.shard((*at, r, c)[2 - rank if rank < 2 else 0 :])),
                down,
                across,
                row_name,
                column_name,
                row_tick,
                column_tick,
                f"[{title}]" if title else "",
                _lines(it.shape),
            )
        )
    above = [n for n in shown[:-2] if n] if rank > 2 else []
    over = [", ".join(it.axes[i] for i in range(rank - 2) if it.axes[i])] if above else []
    slices = [f"slices over {over[0]}"] if over else []
    rows, columns = ((1, 1) + it.shape)[-2:]
    return draw(panels, [it.kind, it.spec, *slices], it.footers(), it.alt_text(), rows / columns if rank > 1 else 0.18)


def _ticks(parts: list[tuple[int, int]], named: bool) -> Callable[[int], str]:
    """Return the range of each shard in one dimension, as Python writes it; nothing for a dimension without a name."""
    return (lambda i: f"{parts[i][0]}:{parts[i][1]}") if named else lambda i: ""


def _lines(shape: tuple[int, ...]) -> tuple[int, int]:
    """Return the numbers of elements down and across the array, if few enough for thin lines; else (1, 1)."""
    rows, columns = ((1, 1) + shape)[-2:]
    return (rows, columns) if max(rows, columns) <= 16 and len(shape) in (1, 2) else (1, 1)


def _shown(sizes: tuple[int, ...]) -> tuple[list[tuple[int, ...] | None], list[int | None], list[int | None]]:
    """Choose the panels, rows and columns to draw, None for those left out; a panel: an index of the leading sizes."""
    leading = sizes[:-2]
    many = leading and math.prod(sizes) > CELLS
    panels, rows, columns = FEWER if many else (PANELS, ROWS, COLUMNS)
    leads = [
        None if i is None else tuple(map(int, np.unravel_index(i, leading))) if leading else ()
        for i in few(math.prod(leading), panels)
    ]
    return leads, few(sizes[-2], rows), few(sizes[-1], columns)
