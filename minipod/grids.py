"""Grids of cells: a mesh, and how an array lies on it. Exact geometry, so written as SVG directly."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jax.sharding import AbstractMesh, Mesh

from minipod.layout import Layout, layout
from minipod.svg import Canvas, Picture, text_width
from minipod.words import few, join, numbers, runs

WIDE = 400.0  # no grid is wider: words stay readable when a phone shows it 330 pixels wide
COLUMNS, ROWS, PANELS = 8, 12, 8  # more than these are drawn as the first ones, an ellipsis and the last
GAP = 22.0  # between panels


@dataclass
class Cell:
    """One cell: the devices in it, and the number of the shard whose colour it has (None: a device's tint)."""

    devices: list[Any]
    shard: int | None = None


@dataclass
class Grid:
    """One panel. cell(r, c) gives a cell; rows and columns: which to draw, None for an ellipsis; an empty name or
    tick is not drawn; lines: how many elements a cell has down and across, 1 where they are not shown."""

    cell: Callable[[int, int], Cell]
    rows: Sequence[int | None]
    columns: Sequence[int | None]
    row_name: str
    column_name: str
    row_tick: Callable[[int], str]
    column_tick: Callable[[int], str]
    title: str = ""
    lines: tuple[int, int] = (1, 1)


@dataclass
class Measure:
    """Sizes that all panels of a picture share, in units of the picture."""

    wide: float
    tall: float
    left: float  # room for the name and the ticks of the rows
    long: bool  # labels say «device 3», not 3
    several: bool  # more than one host: cells name it where there is room


def mesh(mesh: Mesh) -> Picture:
    """The devices of `mesh` in their places, its axes named. Beyond two axes: one panel per index of the first ones.

    Raises TypeError for what has no devices (an AbstractMesh) and ValueError for an empty mesh.
    """
    if isinstance(mesh, AbstractMesh):
        raise TypeError("an AbstractMesh has no devices to draw: give a Mesh, such as jax.make_mesh returns")
    if not isinstance(mesh, Mesh):
        raise TypeError(f"expected a Mesh, such as jax.make_mesh returns, got {type(mesh).__name__}")
    if mesh.devices.size == 0 or not mesh.axis_names:
        raise ValueError("this mesh has no axes: give one with devices, such as jax.make_mesh((8,), ('x',)) returns")
    names = [str(n) for n in mesh.axis_names]
    places = mesh.devices.reshape((1,) * (2 - mesh.devices.ndim) + mesh.devices.shape)
    flat = len(names) == 1
    grids: list[Grid | None] = []
    for lead in _leads(places.shape[:-2]):
        if lead is None:
            grids.append(None)
            continue
        grids.append(
            Grid(
                lambda r, c, at=lead: Cell([places[(*at, r, c)]]),
                few(places.shape[-2], ROWS),
                few(places.shape[-1], COLUMNS),
                "" if flat else f"axis {names[-2]}",
                f"axis {names[-1]}",
                (lambda r: "") if flat else str,
                str,
                ", ".join(f"{n} = {i}" for n, i in zip(names, lead, strict=False)),
            )
        )
    return _draw(grids, [], [], _alt_mesh(mesh), 0.0)


def _alt_mesh(mesh: Mesh) -> str:
    ids = [d.id for d in mesh.devices.flat]
    size = " × ".join(f"{n}: {s}" for n, s in mesh.shape.items())
    places = [f"({', '.join(map(str, at))}) device {mesh.devices[at].id}" for at in np.ndindex(mesh.devices.shape)]
    order = f"{numbers('device', ids)}, in this order" if mesh.devices.ndim == 1 else f"at {join(places, 16)}"
    return f"A mesh of {len(ids)} device{'s' * (len(ids) != 1)}, {size}: {order}."


def sharding(array_or_sharding: Any, shape: Sequence[int] | None = None) -> Picture:
    """Which device holds which part of an array: one colour per shard, its cell naming every device with a copy.

    array_or_sharding: a jax.Array (or ShapeDtypeStruct with a sharding) of any rank; or a Sharding, then with the
    array's `shape`. Rank 3 and more: one panel per shard of the leading dimensions.
    Raises TypeError for what is on no device (a NumPy array, a traced value, a bare PartitionSpec) and ValueError
    for a shape that the sharding does not divide.
    """
    it = layout(array_or_sharding, shape)
    if not math.prod(it.shape):
        canvas = Canvas()
        _header(canvas, 0, [it.kind, it.spec])
        canvas.rect(0, 26, 300, 44, "box", 6)
        canvas.text(150, 48, "no elements: no device holds any", "soft")
        return canvas.picture(it.alt())
    rank = len(it.shape)
    parts = [[(0, 1)]] * (2 - rank) + it.parts
    words = ["elements"] if rank == 1 else ["slices"] * (rank - 2) + ["rows", "columns"]
    shown = [f"{word} over {a}" if a else word if rank < 3 else "" for word, a in zip(words, it.axes, strict=False)]
    row_name, column_name = ([""] * (2 - rank) + shown if rank else ["", ""])[-2:]
    row_tick, column_tick = (_ticks(p, bool(n)) for p, n in zip(parts[-2:], (row_name, column_name), strict=True))
    grids: list[Grid | None] = []
    for lead in _leads(tuple(map(len, parts[:-2]))):
        if lead is None:
            grids.append(None)
            continue
        title = ", ".join(f"{p[i][0]}:{p[i][1]}" for p, i in zip(parts, lead, strict=False))
        grids.append(
            Grid(
                lambda r, c, at=lead: Cell(*it.shard((*at, r, c)[2 - rank if rank < 2 else 0 :])),
                few(len(parts[-2]), ROWS),
                few(len(parts[-1]), COLUMNS),
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
    return _draw(grids, [it.kind, it.spec, *slices], it.footers(), it.alt(), rows / columns if rank > 1 else 0.18)


def _ticks(parts: list[tuple[int, int]], named: bool) -> Callable[[int], str]:
    """The range of each shard in one dimension, as Python writes it; nothing for a dimension without a name."""
    return (lambda i: f"{parts[i][0]}:{parts[i][1]}") if named else lambda i: ""


def _lines(shape: tuple[int, ...]) -> tuple[int, int]:
    """Elements down and across that are few enough to be shown by thin lines: the whole array's, not a cell's."""
    rows, columns = ((1, 1) + shape)[-2:]
    return (rows, columns) if max(rows, columns) <= 16 and len(shape) in (1, 2) else (1, 1)


def _leads(sizes: tuple[int, ...]) -> list[tuple[int, ...] | None]:
    """The index of each panel, at most PANELS, None for those left out; one panel `()` without leading axes."""
    return [None if i is None else tuple(map(int, np.unravel_index(i, sizes))) if sizes else ()
            for i in few(math.prod(sizes), PANELS)]  # fmt: skip


def _header(canvas: Canvas, x: float, words: Sequence[str]) -> None:
    for i, word in enumerate(w for w in words if w):
        canvas.text(x, 8, word, "code strong" if i == 0 else "small soft" if " over " in word else "code", "start")
        x += text_width(word, 12, True) + 14


def _draw(grids: Sequence[Grid | None], header: list[str], footers: list[str], alt: str, aspect: float) -> Picture:
    """The panels left to right, wrapped at WIDE; a line above, lines below. aspect: height by width, 0: low cells."""
    first = next(g for g in grids if g is not None)
    m = _measure(grids, first, aspect)
    canvas, panel = Canvas(), m.left + m.wide * len(first.columns)
    across = max(1, int((WIDE + GAP + 1) // (panel + GAP)))
    across = math.ceil(len(grids) / math.ceil(len(grids) / across))  # 2 + 2 panels rather than 3 + 1
    x, y = 0.0, 0.0
    if any(header):
        _header(canvas, m.left + 1.5, header)
        y = 32.0
    for i, g in enumerate(grids):
        if i and i % across == 0:
            x, y = 0.0, canvas.height + GAP
        if g is None:
            canvas.text(x + panel / 2, y + 50, "…", "soft")
        else:
            _grid(canvas, g, x, y, m)
        x += panel + GAP
    for note in ([] if m.long else ["each number is a device"]) + footers:
        canvas.text(m.left + 1.5, canvas.height + 13, note, "small soft", "start")
    return canvas.picture(alt)


def _measure(grids: Sequence[Grid | None], first: Grid, aspect: float) -> Measure:
    rows, columns = len(first.rows), len(first.columns)
    ticks = [text_width(first.row_tick(r), 12, True) for r in first.rows if r is not None]
    left = (max(ticks) + 10 if max(ticks) else 0.0) + (18.0 if first.row_name else 0.0)
    panels = len(grids)
    # Panels: as many side by side as leave cells wide enough for a number, two or three at least look balanced.
    across = 1 if panels == 1 else max(1, min(panels, 4, int((WIDE + GAP) // (left + 44 * columns + GAP))))
    room = (WIDE - across * left - GAP * (across - 1)) / across
    wide = min(room / columns, {1: 220.0, 2: 150.0}.get(columns, 96.0))
    low, high = (44.0, 46.0) if not aspect else (36.0, max(88.0, 190.0 / rows))
    tall = min(max(wide * columns * min(aspect, 1.3) / rows, low), high)
    if first.row_name:
        tall = max(tall, (text_width(first.row_name, 11.5) + 6) / rows)
    cells = [g.cell(r, c) for g in grids if g for r in g.rows for c in g.columns if r is not None and c is not None]
    long = all(text_width(numbers("device", [d.id for d in cell.devices])) <= wide - 9 for cell in cells)
    several = len({d.process_index for cell in cells for d in cell.devices}) > 1
    return Measure(wide, tall, left, long, several)


def _grid(canvas: Canvas, g: Grid, x: float, y: float, m: Measure) -> None:
    """One panel with its upper left corner at (x, y)."""
    left, width = x + m.left, m.wide * len(g.columns)
    if g.title:
        canvas.text(left + 1.5, y + 8, g.title, "code", "start")
        y += 22
    if g.column_name:
        canvas.text(left + width / 2, y + 6, g.column_name, "small soft")
        y += 19
    ticks = _fitted(["…" if c is None else g.column_tick(c) for c in g.columns], m.wide)
    if any(t not in ("", "…") for t in ticks):
        for i, tick in enumerate(ticks):
            canvas.text(left + (i + 0.5) * m.wide, y + 6, tick, "code soft")
        y += 18
    canvas.upright(x + 6, y + m.tall * len(g.rows) / 2, g.row_name, "small soft")
    for j, r in enumerate(g.rows):
        top = y + j * m.tall
        tick = "…" if r is None else g.row_tick(r)
        canvas.text(left - 8, top + m.tall / 2, tick if m.left else "", "code soft", "end")
        for i, c in enumerate(g.columns):
            if r is None or c is None:
                canvas.text(left + (i + 0.5) * m.wide, top + m.tall / 2, "…", "soft")
            else:
                box = (left + i * m.wide + 1.5, top + 1.5, m.wide - 3, m.tall - 3)
                per_cell = (g.lines[0] // len(g.rows), g.lines[1] // len(g.columns))
                _cell(canvas, g.cell(r, c), box, m, per_cell)
    canvas.grow(left + width, y + m.tall * len(g.rows))


def _fitted(ticks: list[str], wide: float) -> list[str]:
    """The ticks, or their starts only, or only the first and the last, so that neighbours do not touch."""
    if all(text_width(t, 12, True) <= wide - 4 for t in ticks):
        return ticks
    starts = [f"{t.partition(':')[0]}:" if ":" in t else t for t in ticks]
    if all(text_width(t, 12, True) <= wide - 4 for t in starts):
        return starts
    return [t if i in (0, len(ticks) - 1) else "" for i, t in enumerate(starts)]


def _cell(
    canvas: Canvas, cell: Cell, box: tuple[float, float, float, float], m: Measure, lines: tuple[int, int]
) -> None:
    x, y, wide, tall = box
    if cell.shard is None:
        canvas.rect(*box, "tint device")
    else:
        canvas.shard(*box, cell.shard)
    across = "".join(f"M{x:.1f} {y + tall * i / lines[0]:.1f}h{wide:.1f}" for i in range(1, lines[0]))
    down = "".join(f"M{x + wide * i / lines[1]:.1f} {y:.1f}v{tall:.1f}" for i in range(1, lines[1]))
    if across or down:
        canvas.add("path", d=across + down, class_="thin")
    ids = [d.id for d in cell.devices]
    said = [numbers("device", ids)] if m.long else _wrap(runs(ids), wide - 6, max(1, int((tall - 4) // 16)))
    home = {d.process_index for d in cell.devices}
    hosts = [f"host {home.pop()}"] if m.several and len(home) == 1 else []
    if tall < 16 * (len(said) + 1) or wide < 48:
        hosts = []
    for i, line in enumerate(said + hosts):
        middle = y + tall / 2 + (i - (len(said + hosts) - 1) / 2) * 16
        ink = "" if cell.shard is None else "on "
        canvas.text(x + wide / 2, middle, line, f"{ink}small" if i >= len(said) else ink.rstrip())


def _wrap(parts: list[str], wide: float, most: int) -> list[str]:
    """Parts joined by commas into at most `most` lines that fit `wide`; what does not fit becomes `…`."""
    lines = [""]
    for part in parts:
        longer = f"{lines[-1]}, {part}" if lines[-1] else part
        if lines[-1] and text_width(longer) > wide:
            lines[-1] += ","
            lines.append(part)
        else:
            lines[-1] = longer
    if len(lines) <= most:
        return lines
    return [*lines[: most - 1], "…"] if most > 1 else [f"{parts[0]} …"]
