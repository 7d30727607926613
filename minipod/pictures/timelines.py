"""Record what is done when, in lanes: from spans that a running program records, or a table of ticks and stages.

line = Timeline(["host", "device"], "milliseconds")
line.span(0, 0.0, 1.5, "1")
line.step(1.5, ["word", "the call returns"])
pictures.play(line)
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from minipod.drawing.axes import axis
from minipod.drawing.phrases import Phrase, several
from minipod.drawing.svg import PALETTE, Canvas, number, text_width

LANES, TICKS = 16, 64  # the most that can be drawn
WIDE, TALL, ROW, TOP, TICK = 250.0, 22.0, 30.0, 6.0, 24.0  # the time; a span; lane to lane; above; a tick of a table


@dataclass(frozen=True)
class Span:
    """An activity in a lane from `start` to `end`. colour: as of a shard, or None. open: whether its end is unknown."""

    lane: int
    start: float
    end: float
    label: str
    colour: int | None = 0
    open: bool = False


@dataclass
class Timeline:
    """A record of what was done in named lanes.

    unit: of time, such as "milliseconds"; "" for ticks. spans: what was done. steps: for each frame, the time up to
    which it shows the spans, and its sentence.
    """

    lanes: Sequence[str]
    unit: str = ""
    spans: list[Span] = field(default_factory=list)
    steps: list[tuple[float, Phrase]] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not 1 <= len(self.lanes) <= LANES:
            raise ValueError(f"{len(self.lanes)} lanes cannot be drawn: 1 to {LANES} can")

    def span(
        self, lane: int, start: float, end: float, label: str = "", colour: int | None = 0, open: bool = False
    ) -> None:
        """Record what was done in a lane. Raises ValueError for a lane that does not exist, or start > end."""
        if not 0 <= lane < len(self.lanes) or not start <= end:
            raise ValueError(f"a span needs a lane from 0 to {len(self.lanes) - 1} and must not end before it begins")
        self.spans.append(Span(lane, start, end, label, colour, open))

    def step(self, time: float, sentence: Phrase) -> None:
        """Add a frame that shows everything up to `time`. sentence: its sentence (`minipod.drawing.phrases`)."""
        self.steps.append((time, sentence))

    @property
    def end(self) -> float:
        """Return the time at which the last span or step ends."""
        return max([s.end for s in self.spans] + [time for time, _ in self.steps])


def of_table(table: Sequence[Sequence[Any]], lanes: Sequence[str] = ()) -> Timeline:
    """Make a timeline of table[tick][stage]: a label, or None or "" if the stage is idle.

    The number in a label is its colour. Labels whose letters differ from those of the first label, such as B3 after F3,
    have a pattern. lanes: names of the stages, by default "stage 0" and so on. Raises ValueError for a table that is
    ragged, empty or too long.
    """
    ticks = [["" if c is None else str(c) for c in tick] for tick in table]
    stages = len(ticks[0]) if ticks else 0
    if not stages or any(len(tick) != stages for tick in ticks) or len(ticks) > TICKS:
        raise ValueError(f"a table needs 1 to {TICKS} ticks, each with a label for every stage")
    kinds: list[str] = []
    line, idle = Timeline(lanes or [f"stage {i}" for i in range(stages)]), 0
    for t, tick in enumerate(ticks):
        for stage, label in enumerate(tick):
            if label:
                kind, digits = re.sub(r"\d.*", "", label), re.search(r"\d+", label)
                kinds += [kind] if kind not in kinds else []
                # The palette has eight; from the ninth colour on a pattern lies over it.
                colour = (int(digits[0]) if digits else 0) % len(PALETTE) + len(PALETTE) * kinds.index(kind)
                line.span(stage, t, t + 1, label, colour)
        idle += tick.count("")
        busy = [["works on", ["word", line.lanes[i]], label] for i, label in enumerate(tick) if label]
        phrase = several([*busy, ["idle", idle, (t + 1) * stages]], 2 + len(busy))
        line.step(t + 1, ["colon", ["tick", t + 1, len(ticks)], phrase])
    return line


def canvas(line: Timeline, index: int) -> Canvas:
    """Draw the frame of step `index`: what was done by then. All frames of one timeline have the same size."""
    drawn, until, table = Canvas(), line.steps[index][0], not line.unit
    left = max(text_width(name, 12) for name in line.lanes) + 12
    first = min(s.start for s in line.spans)
    least = [(text_width(s.label, 12, True) + 6) / (s.end - s.start) for s in line.spans if table]
    tick = max([TICK, *least])
    wide = tick * line.end if table else WIDE
    scale = wide / (line.end - first)
    bottom = TOP + ROW * len(line.lanes)

    def at(time: float) -> float:
        return left + (min(time, until) - first) * scale

    for lane, name in enumerate(line.lanes):
        y = TOP + lane * ROW
        drawn.text(left - 10, y + TALL / 2, name, "small", "end")
        drawn.add("path", d=f"M{number(left)} {number(y + TALL)}h{number(wide)}", class_="rule")
    for span in (s for s in line.spans if s.start < until):
        _span(drawn, span, at(span.start), at(span.end), TOP + span.lane * ROW)
    if table:
        for i in range(int(line.end)) if not any(s.open for s in line.spans) else ():
            drawn.text(left + (i + 0.5) * tick, bottom + 6, str(i + 1), "code soft")
    else:
        for value, label in (across := axis([0.0, line.end - first], False, 5, tight=True)).ticks:
            x = left + across.at(value) * wide
            drawn.add("path", d=f"M{number(x)} {number(bottom - 2)}v4", class_="line")
            drawn.text(x, bottom + 11, label, "code")
        drawn.text(left + wide / 2, bottom + 28, line.unit, "small")
    x = left + (until - first) * scale
    drawn.add("path", d=f"M{number(x)} {number(TOP - 6)}V{number(bottom - 3)}", class_="now")
    drawn.grow(left + wide + 8, bottom + (12 if table else 34))
    return drawn


STYLE = (
    "svg.minipod .now{stroke:currentColor;stroke-opacity:.5;stroke-dasharray:2 3}"
    "svg.minipod .waits{fill:#D1603D;fill:var(--minipod-line-1,#D1603D);fill-opacity:.16;stroke:#D1603D;"
    "stroke:var(--minipod-line-1,#D1603D);stroke-dasharray:5 3}"
)


def done(line: Timeline, index: int) -> Phrase:
    """Return a phrase for what was done in each lane by step `index`."""
    until, each = line.steps[index][0], []
    for lane, name in enumerate(line.lanes):
        spans = sorted((s for s in line.spans if s.lane == lane and s.start < until), key=lambda s: s.start)
        labels = [s.label or "·" for s in spans]
        phrase: Phrase = ", ".join(labels) or ["no call"]
        if any(" " in label for label in labels):  # words, which other languages have others for
            phrase = ["clauses", *(["word", label] for label in labels)]
        each.append(["in lane", ["word", name], phrase])
    return several(each, LANES)


def _span(drawn: Canvas, span: Span, x0: float, x1: float, y: float) -> None:
    if span.open:
        drawn.rect(x0, y, x1 - x0, TALL, "waits", 0)
    elif span.colour is None:
        drawn.rect(x0, y, x1 - x0, TALL, "tint copy", 2)
    else:
        drawn.shard(x0, y, x1 - x0, TALL, span.colour, 2 if x1 - x0 > 6 else 0)
    if text_width(span.label, 12, True) <= x1 - x0 + 1:
        drawn.text(
            (x0 + x1) / 2, y + TALL / 2, span.label, "code on" if span.colour is not None and not span.open else "code"
        )
