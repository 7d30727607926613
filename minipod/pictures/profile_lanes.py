"""Draw a profile as lanes: what each device did, from left to right, with different heights and tones."""

from collections.abc import Iterable, Sequence
from typing import Any

from minipod.drawing.axes import axis
from minipod.drawing.phrases import Phrase, alt_text, several
from minipod.drawing.svg import Canvas, Picture, number, text_width

MOST = 16  # devices in one picture
WIDE, TALL, ROW, CELL = 380.0, 14.0, 20.0, 0.5  # the time; a lane; from one to the next; the least that is drawn
# name: (what the legend says, class, height)
LOOKS = {
    "compute": ("compute", "tint bar-compute", 1.0),
    "waiting": ("waiting for others", "bar-wait", 0.3),
    "exchange": ("exchange", "bar-exchange", 1.0),
    "noted": ("", "bar-noted", 0.6),
}


def profile(profile: Any, notes: Sequence[str] = ()) -> Picture:
    """Draw a lane for each device of a `minipod.profiles.Profile` and, in each process, for each name in `notes`.

    High and light: the device computes. High and dark: only a collective runs, which all devices have reached. Low: the
    device waits in a collective for other devices. Empty: nothing runs. Raises TypeError or ValueError for a profile
    that cannot be drawn.
    """
    if not hasattr(profile, "spent"):
        raise TypeError("expected a profile, such as minipod.profiles.read returns")
    lanes = profile.lanes
    if not 1 <= len(lanes) <= MOST:
        raise ValueError(f"{len(lanes)} devices cannot be drawn: 1 to {MOST} can")
    processes = sorted({lane.process for lane in lanes})
    rows: list[tuple[str, str, dict[str, list[tuple[float, float]]]]] = []
    sentences: list[Phrase] = []
    for process in processes:
        if len(processes) > 1:
            rows.append((f"process {process}", "strong", {}))
        for name in notes:
            spans = [(n.start, n.end) for n in profile.noted(name) if n.process == process]
            rows.append((name, "code", {"noted": spans}))
        for lane in (lane for lane in lanes if lane.process == process):
            spent = profile.spent(lane)
            rows.append((str(lane), "small", {k: getattr(spent, k) for k in ("compute", "waiting", "exchange")}))
            each = [_ms(sum(b - a for a, b in getattr(spent, k))) for k in ("compute", "waiting", "exchange", "idle")]
            sentences.append(["lane", ["device", 1, str(lane.device)], *each])
    return _drawn(profile, rows, sentences, bool(notes))


def _drawn(profile: Any, rows: list[Any], sentences: list[Phrase], noted: bool) -> Picture:
    canvas, length = Canvas(), 1e3 * (profile.end - profile.start)
    left = max(text_width(name, 12, style == "code") for name, style, _ in rows) + 10
    x, top = left, 26.0
    for label, look, high in LOOKS.values():
        if label:
            _bar(canvas, x, 8, 14, look, high)
            canvas.text(x + 20, 8, label, "small", "start")
            x += 34 + text_width(label, 12)
    for i, (name, style, spans) in enumerate(rows):
        middle = top + ROW * i + TALL / 2
        canvas.text(left - 8, middle, name, style if style == "code" else f"small {style}", "end")
        if spans:
            line = f"M{number(left)} {number(middle + TALL / 2)}H{number(left + WIDE)}"
            canvas.add("path", d=line, class_="rule")
        for look, start, end in _cells(spans, profile.start, profile.end):
            _bar(canvas, left + start, middle, end - start, *LOOKS[look][1:])
    bottom = top + ROW * len(rows) + 2
    for value, tick in (across := axis([0.0, length], False, 6, tight=True)).ticks:
        at = left + across.at(value) * WIDE
        canvas.add("path", d=f"M{number(at)} {number(bottom - 4)}v4", class_="line")
        canvas.text(at, bottom + 9, tick, "code")
    canvas.text(left + WIDE / 2, bottom + 26, "milliseconds", "small")
    canvas.add("style", _STYLE)
    of: Phrase = ["lanes", len(sentences), _ms(profile.end - profile.start)]
    return canvas.picture(alt_text("profile", ["colon", of, several(sentences, MOST)], caption=of))


_STYLE = (
    "svg.minipod .bar-compute{fill:#3F8CDB;fill:var(--minipod-device,#3F8CDB);fill-opacity:.45;stroke-opacity:.35}"
    "svg.minipod .bar-wait{fill:#D1603D;fill:var(--minipod-line-1,#D1603D)}"
    "svg.minipod .bar-exchange{fill:currentColor;fill-opacity:.85}"
    "svg.minipod .bar-noted{fill:none;stroke:currentColor;stroke-width:1.2;stroke-dasharray:3 2}"
)


def _bar(canvas: Canvas, x: float, middle: float, wide: float, look: str, high: float) -> None:
    canvas.rect(x, middle - TALL * high / 2, wide, TALL * high, look, 0)


def _cells(spans: dict[str, list[tuple[float, float]]], start: float, end: float) -> Iterable[tuple[str, float, float]]:
    """Return what fills most of each half pixel, equal neighbours joined: (what, from, to) in pixels."""
    count = int(WIDE / CELL)
    cells = [dict[str, float]() for _ in range(count)]
    for name, parts in spans.items():
        for a, b in parts:
            a, b = (min(max((t - start) / (end - start), 0.0), 1.0) * count for t in (a, b))
            for i in range(int(a), min(int(b) + 1, count)):
                cells[i][name] = cells[i].get(name, 0.0) + min(b, i + 1) - max(a, i)
    chosen = [max(c, key=lambda k: c[k]) if sum(c.values()) >= 0.5 else "" for c in cells]
    first = 0
    for i in range(1, count + 1):
        if i == count or chosen[i] != chosen[first]:
            if chosen[first]:
                yield chosen[first], first * CELL, i * CELL
            first = i


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.3g}"
