"""Draw plans as points: the time of a step over the share of a chip's memory that the step needs."""

from collections.abc import Sequence
from typing import Any

from minipod.drawing.axes import axis
from minipod.drawing.phrases import Phrase, alt_text, several
from minipod.drawing.svg import Canvas, Picture, number, text_width
from minipod.pictures.curves import TALL, WIDE, frame, marker
from minipod.ranges import counted
from minipod.roofline import BOUNDS

MOST, LINE = 16, 15.0  # plans; from one line of small print to the next


def plans(plans: Sequence[Any]) -> Picture:
    """Draw a point for each plan (`minipod.pods.Plan`): the percent of usable memory that it needs, and ms per step.

    The time is the longest of arithmetic, memory, network and host, and the marker shows which. Plans that do not fit,
    or lack a figure, are listed below. Raises TypeError for other objects, ValueError unless 1 to 16 can be drawn.
    """
    every = list(plans)
    if not all(hasattr(p, "seconds") and hasattr(p, "memory") for p in every):
        raise TypeError("expected a list of plans, such as minipod.pods.search returns")
    fitting = [p for p in every if p.fits and p.bound and p.memory["peak"]]
    if not fitting or len(every) > MOST:
        raise ValueError(
            f"{counted(len(every), 'plan')} cannot be drawn: give 1 to {MOST}, at least one that fits and has all "
            "figures"
        )
    points = [(100 * p.memory["peak"] / p.memory["limit"], 1e3 * p.seconds.least) for p in fitting]
    kinds = [kind for kind in BOUNDS if any(p.bound == kind for p in fitting)]
    across, up = axis([0.0, 100.0], False, 5), axis([y * f for _, y in points for f in (0.9, 1.1)], True, 5)
    top = 22.0 + 17 * len(kinds)
    left, right = max(text_width(tick, 12, True) for _, tick in up.ticks) + 9, WIDE
    canvas = Canvas()
    frame(canvas, across, up, left, right, top, "percent of the memory", "milliseconds")
    for row, kind in enumerate(kinds):
        y = 24.0 + 17 * row
        marker(canvas, left + 6, y, BOUNDS.index(kind))
        canvas.text(left + 16, y, f"bound by {kind}", "small", "start")
    taken: list[tuple[float, float, float]] = []  # labels that are drawn: left, right, middle
    for plan, (x, y) in sorted(zip(fitting, points, strict=True), key=lambda each: each[1][1]):
        px, py = left + across.at(x) * (right - left), top + (1 - up.at(y)) * TALL
        marker(canvas, px, py, BOUNDS.index(plan.bound))
        word, wide = name(plan), text_width(name(plan), 12, True)
        start = px + 9 if px + 9 + wide <= right else px - 9 - wide
        level, near = py, start - 2 if start > px else start + wide + 2
        while any(a < start + wide and start < b and abs(level - m) < LINE for a, b, m in taken):
            level -= LINE
        if level < py - 2:
            canvas.add("path", d=f"M{number(px)} {number(py)}L{number(near)} {number(level)}", class_="line")
        taken.append((start, start + wide, level))
        canvas.text(start, level, word, "code", "start")
    y = top + TALL + 54
    large = [name(p) for p in every if not p.fits]
    unknown = [name(p) for p in every if p.fits and p not in fitting]
    for heading, names in (("these do not fit", large), ("these fit, but a figure is missing", unknown)):
        if names:
            canvas.text(0, y, heading, "small", "start")
            for row, word in enumerate(names):
                canvas.text(12, y + LINE * (row + 1), word, "code", "start")
            y += LINE * (len(names) + 1.5)
    sentences: list[Phrase] = [
        ["plan", name(p), f"{x:.0f}", f"{y:.3g}", ["word", f"bound by {p.bound}"]]
        for p, (x, y) in zip(fitting, points, strict=True)
    ]
    sentences += [*(["unfit", word] for word in large), *(["unknown", word] for word in unknown)]
    return canvas.picture(alt_text("plans", ["plans", several(sentences, MOST)]))


def name(plan: Any) -> str:
    """Return `v5e:4x4 16×1`: the slice and the sizes of the mesh."""
    return f"{plan.on} {'×'.join(map(str, plan.mesh.shape.values()))}"
