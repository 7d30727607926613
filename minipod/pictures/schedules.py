"""Draw the schedule of a pipeline: a lane for each stage, a cell for each tick."""

import re
from collections.abc import Sequence

from minipod.drawing.grids import WIDE
from minipod.drawing.phrases import alt_text
from minipod.drawing.svg import Canvas, Picture, text_width
from minipod.ranges import counted

STAGES, TICKS = 16, 64  # the most in one picture
HIGH, ROW, STRIPE = 20.0, 23.0, 4.0  # a cell; from one lane to the next; what tells a backward apart without colour
LOOKS = {"F": ("forward", "tint device"), "B": ("backward", "tint collective")}
LABEL = re.compile(r"([FB])(\d+[a-z]?)")


def schedule(rows: Sequence[Sequence[str | None]]) -> Picture:
    """Draw the schedule of a pipeline from a table of labels, rows[tick][stage].

    "F3" is the forward pass of microbatch 3, "B3" the backward pass, "F3b" a pass of the stage's second part, "" or
    None an idle tick. Consecutive equal labels share a cell. Raises ValueError for a table that cannot be drawn.
    """
    stages, ticks = _size(rows)
    lanes = [[row[s] or "" for row in rows] for s in range(stages)]
    canvas, left = Canvas(), max(text_width(f"stage {s}", 12) for s in range(stages)) + 10
    wide, top, x = min(24.0, (WIDE - left) / ticks), 24.0, left
    for kind, (label_text, _) in LOOKS.items():
        _cell(canvas, x, 0, 14, kind, "")
        canvas.text(x + 20, HIGH / 2, label_text, "small", "start")
        x += 38 + text_width(label_text, 12)
    for s, lane in enumerate(lanes):
        y = top + ROW * s
        canvas.text(left - 8, y + HIGH / 2, f"stage {s}", "small", "end")
        canvas.add("path", d=f"M{left:.0f} {y + HIGH + 1:.0f}h{wide * ticks:.0f}", class_="rule")
        for label, start, end in _runs(lane):
            if match := LABEL.fullmatch(label):
                _cell(canvas, left + start * wide, y, (end - start) * wide, match[1], match[2])
    canvas.add("style", _STYLE)
    idle = sum(not label for lane in lanes for label in lane)
    of = ["schedule", stages, ticks, f"{idle / (stages * ticks):.1%}"]
    sentences = [["does", str(s), " ".join(label or "·" for label in lane)] for s, lane in enumerate(lanes)]
    return canvas.picture(alt_text("schedule", ["colon", of, ["list", *sentences]], caption=of))


def _size(rows: Sequence[Sequence[str | None]]) -> tuple[int, int]:
    if not rows or not rows[0] or any(isinstance(row, str) or len(row) != len(rows[0]) for row in rows):
        raise ValueError("expected a table: a row for each tick, with a label for each stage")
    if wrong := [x for row in rows for x in row if x and not (isinstance(x, str) and LABEL.fullmatch(x))]:
        raise ValueError(f'{wrong[0]!r} is not a label: write "F3", "B3" or "F3b", or "" for nothing')
    if len(rows[0]) > STAGES or len(rows) > TICKS:
        what = f"{counted(len(rows[0]), 'stage')} and {counted(len(rows), 'tick')}"
        raise ValueError(f"{what} cannot be drawn: up to {STAGES} and {TICKS} can")
    return len(rows[0]), len(rows)


def _runs(lane: Sequence[str]) -> list[tuple[str, int, int]]:
    """Yield runs of equal labels in a row, as (label, first tick, tick after the last)."""
    runs: list[tuple[str, int, int]] = []
    for t, label in enumerate(lane):
        if runs and runs[-1][0] == label:
            runs[-1] = label, runs[-1][1], t + 1
        else:
            runs.append((label, t, t + 1))
    return runs


def _cell(canvas: Canvas, x: float, y: float, wide: float, kind: str, text: str) -> None:
    look = LOOKS[kind][1]
    canvas.rect(x + 0.5, y, wide - 1, HIGH, look, 2)
    if kind == "B":
        canvas.rect(x + 0.5, y + HIGH - STRIPE, wide - 1, STRIPE, "bar-back", 0)
    if text_width(text, 12, code=True) <= wide:
        canvas.text(x + wide / 2, y + HIGH / 2 - (kind == "B") * 1.5, text, "code")


_STYLE = "svg.minipod .bar-back{fill:currentColor;fill-opacity:.6}"
