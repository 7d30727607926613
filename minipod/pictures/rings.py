"""A ring through devices of several hosts: which of its hops stay inside a host, and which cross."""

import math
from collections.abc import Sequence
from typing import Any

from minipod.drawing.phrases import few, told
from minipod.drawing.svg import Canvas, Picture, number, text_width

MOST, HOSTS = 16, 2  # devices; hosts: more would not fit on a phone
TALL, ROW, GAP, TOP = 28.0, 44.0, 96.0, 30.0  # a device, from one to the next, between hosts, a host's name
INSIDE, ACROSS = "l0", "l1"  # the colours of a hop


def ring(devices: Sequence[Any]) -> Picture:
    """The ring that passes through `devices` in this order and back to the first, drawn host by host.

    devices: 2 to 16 devices on at most 2 hosts, or whatever has their `id` and `process_index`. Hops from one host to
    another are dashed. Raises TypeError or ValueError in one sentence for what cannot be drawn.
    """
    order = list(devices)
    if not all(hasattr(d, "id") and hasattr(d, "process_index") for d in order):
        raise TypeError("expected a list of devices, such as list(mesh.devices.flat)")
    owners = sorted({d.process_index for d in order})
    if not 2 <= len(order) <= MOST or len(owners) > HOSTS:
        found = f"a ring of {len(order)} devices on {len(owners)} hosts"
        raise ValueError(f"{found}: 2 to {MOST} devices on at most {HOSTS} can be drawn")
    wide = max(text_width(f"device {d.id}") for d in order) + 18
    places: dict[int, tuple[float, float]] = {}  # device → the left upper corner of its box
    canvas = Canvas()
    for column, owner in enumerate(owners):
        own = sorted(d.id for d in order if d.process_index == owner)
        left = column * (wide + 36 + GAP)
        canvas.rect(left, 0, wide + 36, TOP + ROW * len(own) + 4, "box", 6)
        canvas.text(left + wide / 2 + 18, 15, f"host {owner}", "strong")
        for row, i in enumerate(own):
            places[i] = (left + 18, TOP + ROW * row)
    hops = list(zip(order, [*order[1:], order[0]], strict=True))
    crossing = [hop for hop in hops if hop[0].process_index != hop[1].process_index]
    for a, b in hops:
        _hop(canvas, places[a.id], places[b.id], wide, a.process_index == b.process_index)
    for d in order:
        x, y = places[d.id]
        canvas.rect(x, y, wide, TALL, "device tint")
        canvas.text(x + wide / 2, y + TALL / 2, f"device {d.id}")
    note = f"{len(crossing)} of {len(hops)} hops cross between hosts"
    canvas.text(0, canvas.height + 16, note, "small", "start")
    shown = ", ".join("…" if i is None else str(order[i].id) for i in few(len(order), 10))
    return canvas.picture(told("ring", ["ring", shown, len(crossing), len(hops)]))


def _hop(canvas: Canvas, a: tuple[float, float], b: tuple[float, float], wide: float, inside: bool) -> None:
    """An arrow from the box at `a` to the box at `b`: between neighbours straight, past others around them."""
    (ax, ay), (bx, by) = a, b
    look = f"wire {INSIDE}" if inside else f"wire {ACROSS} d{ACROSS[1:]}"
    if inside and abs(by - ay) > ROW:  # past other devices: along the side
        side = ax if by < ay else ax + wide
        bend = side + (10 if by > ay else -10)
        start, middle, end = (side, ay + TALL / 2), (bend, (ay + by + TALL) / 2), (side, by + TALL / 2)
        canvas.add("path", d=f"M{_at(start)}Q{number(bend)} {number(start[1])} {_at(middle)}T{_at(end)}", class_=look)
        _head(canvas, (bend, end[1] - math.copysign(3, by - ay)), end, INSIDE)
        return
    if inside:
        down = by > ay
        start, end = (ax + wide / 2, ay + TALL * down), (ax + wide / 2, by + TALL * (not down))
    else:
        right = bx > ax
        start, end = (ax + wide * right, ay + TALL / 2), (bx + wide * (not right), by + TALL / 2)
    canvas.add("path", d=f"M{_at(start)}L{_at(end)}", class_=look)
    _head(canvas, start, end, INSIDE if inside else ACROSS)


def _at(point: tuple[float, float]) -> str:
    return f"{number(point[0])} {number(point[1])}"


def _head(canvas: Canvas, start: tuple[float, float], end: tuple[float, float], look: str) -> None:
    """The head of an arrow from `start`, its tip at `end`."""
    (x0, y0), (x, y) = start, end
    length = math.hypot(x - x0, y - y0)
    dx, dy = (x - x0) / length, (y - y0) / length
    wings = [(x - 8 * dx - 4 * s * dy, y - 8 * dy + 4 * s * dx) for s in (1, -1)]
    points = " ".join(f"{number(a)},{number(b)}" for a, b in [(x, y), *wings])
    canvas.add("polygon", points=points, class_=f"{look} head")
