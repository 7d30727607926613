"""Draw curves, such as a loss over steps or a time over bytes. Dashes, markers and names distinguish the curves.

No plotting library is used, because the SVG needs the page's own colours and fonts, in light and dark, and words that
each edition translates; matplotlib and pygal bring their own styles and far more code than this.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jax.core import Tracer

from minipod.drawing.axes import Axis, axis
from minipod.drawing.phrases import Phrase, alt_text
from minipod.drawing.svg import DASHES, LINES, Canvas, Picture, number, text_width

MOST = len(LINES)  # curves in one chart
WIDE, TALL = 400.0, 210.0  # the picture's width, the height of the plot
POINTS, MARKERS = 240, 5  # of one curve: points drawn, markers on it
LINE = 17.0  # from one name to the next

Points = list[tuple[float, float]]


def curve(
    series: Mapping[str, Sequence[float]],
    x: Sequence[float] | None = None,
    xlabel: str = "step",
    ylabel: str = "loss",
    logx: bool = False,
    logy: bool = False,
    dots: Mapping[str, Sequence[float]] | None = None,
) -> Picture:
    """Draw a line for each entry of `series`, name → values: a list, a NumPy array or a jax.Array of one dimension.

    x: positions of the values of all series; by default 0, 1, 2, …, in which case series may differ in length. xlabel,
    ylabel: names of the axes. logx, logy: logarithmic axes, for numbers above 0. dots: name of a line → values to draw
    as points at the same positions, such as measurements next to a prediction.
    Values that are not finite leave a gap, and the alt text says where. Raises TypeError or ValueError for values that
    cannot be drawn.
    """
    lines = _read(series, x, logx, logy)
    points_of = _read(dots, x, logx, logy) if dots else {}
    if unknown := set(points_of) - set(lines):
        raise ValueError(
            f"there are dots for {min(unknown)!r}, but no line of that name: choose from {', '.join(lines)}"
        )
    finite = {name: [p for p in points if math.isfinite(p[1])] for name, points in lines.items()}
    every = [p for points in finite.values() for p in points]
    every += [p for points in points_of.values() for p in points if math.isfinite(p[1])]
    across = axis([p[0] for p in every], logx, 5, tight=True, whole=x is None)
    up = axis([p[1] for p in every], logy, 5)
    canvas = Canvas()
    left = max(text_width(tick, 12, True) for _, tick in up.ticks) + 9
    names = max(text_width(name) for name in finite) + 12
    # Names too long to stand beside the ends stand above the plot
    beside = names <= 140
    top = 22.0 if beside else 22.0 + LINE * len(finite)
    right = WIDE - (names if beside else 8.0)
    frame(canvas, across, up, left, right, top, xlabel, ylabel)

    def place(points: Points) -> Points:
        return [(left + across.at(a) * (right - left), top + (1 - up.at(b)) * TALL) for a, b in _thin(points)]

    places = {name: place(points) for name, points in lines.items()}
    for i, (name, points) in enumerate(places.items()):
        _line(canvas, points, i, len(lines), marked=not dots)
        for x0, y0 in place(points_of.get(name, [])):
            if math.isfinite(y0):
                marker(canvas, x0, y0, i)
    if beside:
        _names_beside(canvas, places, right, top)
    else:
        for i, name in enumerate(places):
            y = 22.0 + LINE * i
            canvas.add("path", d=f"M{number(left)} {number(y)}h26", class_=_look(i))
            marker(canvas, left + 13, y, i)
            canvas.text(left + 33, y, name, "", "start")
    says: list[Phrase] = [["over", ["word", ylabel], ["word", xlabel], _says(lines)]]
    return canvas.picture(alt_text("curve", *says, *([["points", _says(points_of)]] if dots else [])))


def _read(series: Any, x: Sequence[float] | None, logx: bool, logy: bool) -> dict[str, Points]:
    """Return the points of each curve. An error is one sentence."""
    if not isinstance(series, Mapping):
        raise TypeError(f'expected curves by name, such as {{"one device": losses}}, got {type(series).__name__}')
    if not 1 <= len(series) <= MOST:
        raise ValueError(f"a picture holds 1 to {MOST} curves, not {len(series)}")
    xs = None if x is None else _numbers("x", x)
    if xs is not None and not np.isfinite(xs).all():
        raise ValueError("x has a value that is not finite")
    lines: dict[str, Points] = {}
    for name, values in series.items():
        ys = _numbers(f"the curve {str(name)!r}", values)
        at = np.arange(len(ys), dtype=float) if xs is None else xs
        if len(at) != len(ys):
            raise ValueError(f"the curve {str(name)!r} has {len(ys)} values for {len(at)} places in x")
        if not np.isfinite(ys).any():
            raise ValueError(f"the curve {str(name)!r} has no finite value to draw")
        for log, which, numbers in ((logx, "logx", at), (logy, "logy", ys[np.isfinite(ys)])):
            if log and numbers.min() <= 0:
                what = "x" if which == "logx" else f"the curve {str(name)!r}"
                raise ValueError(f"{which} needs numbers above 0, but {what} has {numbers.min():g}")
        lines[str(name)] = list(zip(at.tolist(), ys.tolist(), strict=True))
    return lines


def _numbers(what: str, values: Any) -> np.ndarray:
    if any(isinstance(v, Tracer) for v in (values if isinstance(values, (list, tuple)) else [values])):
        raise TypeError(f"{what} is traced and has no values yet: draw it outside jit")
    try:
        numbers = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise TypeError(f"{what} is not a list of numbers") from None
    if numbers.ndim != 1 or not len(numbers):
        raise ValueError(f"{what} has shape {numbers.shape}: expected one dimension and at least one number")
    return numbers


def _thin(points: Points) -> Points:
    """Keep at most about `POINTS` points: the first, lowest, highest and last of each stretch, in order."""
    size = math.ceil(4 * len(points) / POINTS)
    if size <= 4:
        return points
    kept: Points = []
    for start in range(0, len(points), size):
        stretch = points[start : start + size]
        ends = {0, len(stretch) - 1}
        known = [i for i, p in enumerate(stretch) if math.isfinite(p[1])]
        if known:
            ends |= {min(known, key=lambda i: stretch[i][1]), max(known, key=lambda i: stretch[i][1])}
        kept += [stretch[i] for i in sorted(ends)]
    return kept


def frame(
    canvas: Canvas, across: Axis, up: Axis, left: float, right: float, top: float, xlabel: str, ylabel: str
) -> None:
    """Draw thin lines at the ticks of the values, their numbers, and the names of both axes."""
    for value, tick in up.ticks:
        y = top + (1 - up.at(value)) * TALL
        canvas.add("path", d=f"M{number(left)} {number(y)}H{number(right)}", class_="rule")
        canvas.text(left - 7, y, tick, "code soft", "end")
    canvas.add("path", d=f"M{number(left)} {number(top + TALL)}H{number(right)}", class_="line")
    free = -math.inf
    for value, tick in across.ticks:
        x, half = left + across.at(value) * (right - left), text_width(tick, 12, True) / 2
        if x - half > free:
            canvas.add("path", d=f"M{number(x)} {number(top + TALL)}v4", class_="line")
            canvas.text(x, top + TALL + 14, tick, "code soft")
            free = x + half + 6
    canvas.grow(right, top + TALL)
    canvas.text(0, 5, ylabel, "small", "start")
    canvas.text((left + right) / 2, top + TALL + 33, xlabel, "small")


def _look(i: int) -> str:
    return f"wire l{i} d{i}" if DASHES[i] else f"wire l{i}"


def _line(canvas: Canvas, points: Points, i: int, of: int, marked: bool) -> None:
    """Curve `i` of `of`: its line, broken where a value is not finite, and, if `marked`, its markers, clear of the
    others'."""
    path, pen = [], "M"
    for x, y in points:
        if math.isfinite(y):
            path.append(f"{pen}{x:.1f} {y:.1f}")
        pen = "L" if math.isfinite(y) else "M"
    # The first lies below the others and is wider: it shows where they cover it
    canvas.add("path", d="".join(path), class_=_look(i), stroke_linejoin="round",
               style="stroke-width:3.2" if i == 0 and of > 1 and marked else None)  # fmt: skip
    if not marked:
        return
    known = [p for p in points if math.isfinite(p[1])]
    if of > 1 or len(known) == 1:
        for k in range(min(MARKERS, len(known))):
            marker(canvas, *known[int((k + (i + 0.5) / of) / MARKERS * len(known)) % len(known)], i)


def marker(canvas: Canvas, x: float, y: float, i: int) -> None:
    shape = (
        f"M{x - 3.6:.1f} {y:.1f}a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0Z",
        f"M{x - 3.4:.1f} {y - 3.4:.1f}h6.8v6.8h-6.8Z",
        f"M{x:.1f} {y - 4.6:.1f}l4.4 8h-8.8Z",
        f"M{x:.1f} {y - 4.8:.1f}l4.8 4.8l-4.8 4.8l-4.8 -4.8Z",
        f"M{x:.1f} {y + 4.6:.1f}l4.4 -8h-8.8Z",
        f"M{x - 1.3:.1f} {y - 4.4:.1f}h2.6v3.1h3.1v2.6h-3.1v3.1h-2.6v-3.1h-3.1v-2.6h3.1Z",
    )[i]
    canvas.add("path", d=shape, class_=f"l{i} head")


def _names_beside(canvas: Canvas, places: Mapping[str, Points], right: float, top: float) -> None:
    """Put each name next to the end of its curve, as near as earlier names allow."""
    ends = sorted((next(p for p in reversed(points) if math.isfinite(p[1])), i, name)
                  for i, (name, points) in enumerate(places.items()))  # fmt: skip
    ends.sort(key=lambda end: end[0][1])
    levels: list[float] = []
    for (_, y), _, _ in ends:
        levels.append(max(y, levels[-1] + LINE) if levels else y)
    over = max(0.0, levels[-1] - (top + TALL))
    for k in range(len(levels) - 1, -1, -1):  # push back up what stands below the plot
        levels[k] = min(levels[k], top + TALL - LINE * (len(levels) - 1 - k)) if over else levels[k]
    for ((x, y), i, name), level in zip(ends, levels, strict=True):
        if abs(level - y) > 2 or right - x > 2:
            canvas.add("path", d=f"M{x:.1f} {y:.1f}L{right + 8:.1f} {level:.1f}", class_=f"wire l{i}",
                       style="stroke-width:.8")  # fmt: skip
        canvas.text(right + 11, level, name, "", "start")


def _says(lines: Mapping[str, Points]) -> Phrase:
    """Return the first, the last and the lowest value of each curve."""
    curves: list[Phrase] = []
    for name, points in lines.items():
        known = [p for p in points if math.isfinite(p[1])]
        ends = [_short(value) for x, y in (known[0], known[-1], min(known, key=lambda p: p[1])) for value in (y, x)]
        curves.append(["curve", ["word", name], *ends])
        bad = next((x for x, y in points if not math.isfinite(y)), None)
        if bad is not None:
            curves[-1] = ["gap", curves[-1], _short(bad)]
    return ["list", *curves]


def _short(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) and abs(value) < 1e9 else f"{value:.3g}"
