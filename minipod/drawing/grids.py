"""Draw grids of cells, in one panel or several, directly as SVG."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from minipod.drawing.phrases import devices, in_words, runs
from minipod.drawing.svg import AltText, Canvas, Picture, text_width

WIDE = 400.0  # no grid is wider: words stay readable when a phone shows it 330 pixels wide
GAP = 22.0  # between panels


@dataclass
class Cell:
    """One cell. devices: the devices in it. colour: a number, or None for the tint of a device."""

    devices: list[Any]
    colour: int | None = None


@dataclass
class Grid:
    """A panel of cells.

    cell: (row, column) → Cell. rows, columns: indices to draw, None for an ellipsis. row_name … column_tick: names and
    labels; empty ones are not drawn. lines: elements of the whole panel down and across, with lines drawn between them;
    1 for no lines.
    """

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
    """The sizes that all panels of a picture share, in the picture's units."""

    across: int  # panels side by side
    wide: float
    tall: float
    left: float  # room for the name and the ticks of the rows
    long: bool  # labels are "device 3" instead of 3
    several: bool  # more than one host: cells name it where there is room


def header_line(canvas: Canvas, x: float, labels: Sequence[str]) -> None:
    """Draw the line above a picture as code, with the first label in bold."""
    for i, word in enumerate(w for w in labels if w):
        canvas.text(x, 8, word, "code strong" if i == 0 else "small soft" if " over " in word else "code", "start")
        x += text_width(word, 12, True) + 14


def draw(grids: Sequence[Grid | None], header: list[str], footers: list[str], text: AltText, aspect: float) -> Picture:
    """Draw panels from left to right, wrapped at WIDE, below the line `header` and above the lines `footers`.

    aspect: height divided by width of the whole array; 0 for low cells. text: the description.
    """
    first = next(g for g in grids if g is not None)
    m = _measure(grids, first, aspect)
    canvas, panel = Canvas(), m.left + m.wide * len(first.columns)
    x, y = 0.0, 0.0
    if any(header):
        header_line(canvas, m.left + 1.5, header)
        y = 32.0
    for i, g in enumerate(grids):
        if i and i % m.across == 0:
            x, y = 0.0, canvas.height + GAP
        if g is None:
            canvas.text(x + panel / 2, y + 50, "…", "soft")
        else:
            _grid(canvas, g, x, y, m)
        x += panel + GAP
    for note in ([] if m.long else ["each number is a device"]) + footers:
        canvas.text(m.left + 1.5, canvas.height + 13, note, "small soft", "start")
    return canvas.picture(text)


def _measure(grids: Sequence[Grid | None], first: Grid, aspect: float) -> Measure:
    rows, columns = len(first.rows), len(first.columns)
    ticks = [text_width(first.row_tick(r), 12, True) for r in first.rows if r is not None]
    left = (max(ticks) + 10 if max(ticks) else 0.0) + (18.0 if first.row_name else 0.0)
    panels = len(grids)
    # As many panels side by side as leave cells wide enough for a number
    least = 44 if aspect and panels == 2 else 34
    across = 1 if panels == 1 else max(1, min(panels, 4, int((WIDE + GAP) // (left + least * columns + GAP))))
    across = math.ceil(panels / math.ceil(panels / across))  # 2 + 2 panels rather than 3 + 1
    room = (WIDE - across * left - GAP * (across - 1)) / across
    wide = min(room / columns, {1: 220.0, 2: 150.0}.get(columns, 96.0))
    low, high = (44.0, 46.0) if not aspect else (36.0, max(88.0, 190.0 / rows))
    tall = min(max(wide * columns * min(aspect, 1.3) / rows, low), high)
    if first.row_name:
        tall = max(tall, (text_width(first.row_name, 11.5) + 6) / rows)
    cells = [g.cell(r, c) for g in grids if g for r in g.rows for c in g.columns if r is not None and c is not None]
    long = all(text_width(in_words(devices([d.id for d in cell.devices]))) <= wide - 9 for cell in cells)
    several = len({d.process_index for cell in cells for d in cell.devices}) > 1
    return Measure(across, wide, tall, left, long, several)


def _grid(canvas: Canvas, g: Grid, x: float, y: float, m: Measure) -> None:
    """Draw one panel with its upper left corner at (x, y)."""
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
    """Return the ticks, or their starts only, or only the first and the last, so that neighbours do not touch."""
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
    ids = [d.id for d in cell.devices]
    if cell.colour is None:
        canvas.rect(*box, "tint device")
    else:
        canvas.shard(*box, cell.colour, devices=ids)
    across = "".join(f"M{x:.1f} {y + tall * i / lines[0]:.1f}h{wide:.1f}" for i in range(1, lines[0]))
    down = "".join(f"M{x + wide * i / lines[1]:.1f} {y:.1f}v{tall:.1f}" for i in range(1, lines[1]))
    if across or down:
        canvas.add("path", d=across + down, class_="thin")
    text = [in_words(devices(ids))] if m.long else _wrap(runs(ids), wide - 6, max(1, int((tall - 4) // 16)))
    home = {d.process_index for d in cell.devices}
    hosts = [f"host {home.pop()}"] if m.several and len(home) == 1 else []
    if tall < 16 * (len(text) + 1) or wide < 48:
        hosts = []
    for i, line in enumerate(text + hosts):
        middle = y + tall / 2 + (i - (len(text + hosts) - 1) / 2) * 16
        ink = "" if cell.colour is None else "on "
        canvas.text(x + wide / 2, middle, line, f"{ink}small" if i >= len(text) else ink.rstrip())


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
