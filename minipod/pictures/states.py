"""Draw a step of a trace: what each device holds, what it received, and the bytes sent so far."""

import math
from collections.abc import Sequence

from minipod.drawing.phrases import Phrase, several
from minipod.drawing.svg import PALETTE, Canvas, number, text_width
from minipod.pictures.traces import Cell, Move, Trace

LABEL, TALL, GAP, TOP, LEAST = 74.0, 20.0, 13.0, 26.0, 24.0  # names; a line; between devices; the title; a cell


def canvas(trace: Trace, index: int) -> Canvas:
    """Draw the frame of step `index`; all frames of one trace have the same size."""
    step, drawn = trace.steps[index], Canvas()
    texts = [cell.text for s in trace.steps for held in s.holds for cell in held]
    wide = max(LEAST, *(text_width(t, 12, True) + 8 for t in texts))
    lines = max(1, max(_lines(held, trace.across) for s in trace.steps for held in s.holds))
    tall = lines * TALL
    most = min(trace.across, max(len(held) for s in trace.steps for held in s.holds))
    drawn.text(LABEL, 7, step.name, "strong", "start")
    came = {(m.target, m.place) for m in step.moves}
    for device, held in enumerate(step.holds):
        y = TOP + device * (tall + GAP)
        drawn.text(LABEL - 10, y + TALL / 2, f"device {device}", "small", "end")
        for place, cell in enumerate(held):
            line, column = divmod(place, trace.across)
            _cell(drawn, LABEL + column * wide, y + line * TALL, wide, cell, (device, place) in came)
    for move in step.moves:
        _arrow(drawn, trace, move, wide, tall)
    bottom = TOP + trace.devices * (tall + GAP)
    if total := sum(s.sent for s in trace.steps):
        sent = sum(s.sent for s in trace.steps[: index + 1])
        across = max(most * wide, 96.0)
        drawn.text(LABEL - 10, bottom + 11, "bytes sent", "small", "end")
        drawn.rect(LABEL, bottom + 6, across, 10, "box", 2)
        if sent:
            drawn.rect(LABEL, bottom + 6, across * sent / total, 10, "l0 head", 2)
        drawn.text(LABEL, bottom + 28, f"{sent:,} / {total:,}", "code", "start")
    drawn.grow(LABEL + most * wide, bottom)
    return drawn


def held(trace: Trace, index: int) -> Phrase:
    """Return a phrase for what each device holds at the end of step `index`."""
    return several([["has cells", ["device", 1, str(i)], ", ".join(c.text for c in cells) or ["no call"]]
                    for i, cells in enumerate(trace.steps[index].holds)])  # fmt: skip


def sentence(trace: Trace, index: int) -> Phrase:
    """Return the sentence of step `index`: its own words, and the bytes sent by then."""
    phrase, total = trace.steps[index].said, sum(s.sent for s in trace.steps)
    sent = sum(s.sent for s in trace.steps[: index + 1])
    if not sent:
        return phrase
    return ["list", phrase, ["sent in all", sent] if len(trace.steps) == 2 else ["has sent", sent, total]]


def moved(trace: Trace, index: int) -> Phrase:
    """Return a phrase for which device sent what to which in step `index`; "" if nothing is recorded."""
    step = trace.steps[index]
    cut = any(len(cells) > 1 for cells in step.holds)
    return several([_moved(m, cut) for m in step.moves]) if step.moves else ""


def _moved(move: Move, several_cells: bool) -> Phrase:
    ends = ["device", 1, str(move.source)], ["device", 1, str(move.target)]
    return ["sends piece", ends[0], move.place, ends[1]] if several_cells else ["sends block", *ends]


def _lines(held: Sequence[Cell], across: int) -> int:
    return math.ceil(len(held) / across)


def _cell(drawn: Canvas, x: float, y: float, wide: float, cell: Cell, came: bool) -> None:
    """Draw a cell in the colours of the devices whose numbers it holds; a thick edge marks a cell that was received."""
    stripe = TALL / max(1, len(cell.whose))
    for i, owner in enumerate(cell.whose):
        drawn.rect(x, y + i * stripe, wide, stripe, f"cell c{owner % len(PALETTE)}", 0, style="stroke:none")
    look = "" if cell.whose else "box"
    drawn.rect(x, y, wide, TALL, f"cell {look}".strip() if cell.whose else "box", 0,
               style="fill:none;stroke-opacity:.6" if cell.whose else "")  # fmt: skip
    if came:
        drawn.rect(x, y, wide, TALL, "arrived", 0)
    drawn.text(x + wide / 2, y + TALL / 2, cell.text, "code on" if cell.whose else "code")


STYLE = "svg.minipod .arrived{fill:none;stroke:currentColor;stroke:var(--minipod-ink,currentColor);stroke-width:2.6}"


def _arrow(drawn: Canvas, trace: Trace, move: Move, wide: float, tall: float) -> None:
    """Draw an arrow: straight to the next device below, in two pieces around the ring's end, else along the side."""
    line, column = divmod(move.place, trace.across)
    x = LABEL + (column + 0.5) * wide
    step, rise = tall + GAP, line * TALL
    start, end = TOP + move.source * step, TOP + move.target * step
    if move.target == move.source + 1:
        _tipped(drawn, x, start + rise + TALL, end + rise)
    elif move.target == 0 and move.source == trace.devices - 1:
        drawn.add("path", d=f"M{number(x)} {number(start + rise + TALL)}v{number(GAP - 4)}", class_="wire l0 d2")
        _tipped(drawn, x, end + rise - GAP + 2, end + rise)
    else:
        side, y0, y1 = LABEL + (column + 1) * wide, start + rise + TALL / 2, end + rise + TALL / 2
        bend = side + 8 + 4 * abs(move.target - move.source)
        path = f"M{number(side)} {number(y0)}Q{number(bend)} {number((y0 + y1) / 2)} {number(side + 4)} {number(y1)}"
        drawn.add("path", d=path, class_="wire l0")
        drawn.head(side, y1, -1, 0, "l0 head")
        drawn.grow(bend, max(y0, y1))


def _tipped(drawn: Canvas, x: float, y0: float, y1: float) -> None:
    drawn.add("path", d=f"M{number(x)} {number(y0)}V{number(y1 - 5)}", class_="wire l0")
    drawn.head(x, y1, 0, 1, "l0 head")
