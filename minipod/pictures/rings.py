"""Draw a ring through devices of one or two hosts, with the hops between hosts, or the two halves of an all-reduce."""

import math
from collections.abc import Sequence
from typing import Any

from minipod.drawing.phrases import alt_text, few
from minipod.drawing.svg import Canvas, Picture, number, text_width
from minipod.ranges import counted

MOST, HOSTS = 16, 2  # devices; hosts: more would not fit on a phone
TALL, ROW, GAP, TOP = 28.0, 44.0, 96.0, 30.0  # a device, from one to the next, between hosts, a host's name
INSIDE, ACROSS = "l0", "l1"  # the colours of a hop
PIECES = (2, 5)  # fewest and most devices of an all-reduce: more would not fit on a phone
WIDE, ARRAY, BELOW = 80.0, 20.0, 30.0  # width and height of an array; from one device to the next
BETWEEN, ABOVE, LABEL = 86.0, 30.0, 62.0  # from one state to the next; above them; the names of the devices


def ring(devices: Sequence[Any]) -> Picture:
    """Draw the ring through `devices` in this order and back to the first, in a box for each host.

    devices: 2 to 16 devices on at most 2 hosts, or objects with their `id` and `process_index`. Hops from one host to
    another are dashed. Raises TypeError or ValueError for devices that cannot be drawn.
    """
    order = list(devices)
    if not all(hasattr(d, "id") and hasattr(d, "process_index") for d in order):
        raise TypeError("expected a list of devices, such as list(mesh.devices.flat)")
    owners = sorted({d.process_index for d in order})
    if not 2 <= len(order) <= MOST or len(owners) > HOSTS:
        caption = f"a ring of {counted(len(order), 'device')} on {counted(len(owners), 'host')}"
        raise ValueError(f"{caption} cannot be drawn: 2 to {MOST} devices on at most {HOSTS} hosts can")
    wide = max(text_width(f"device {d.id}") for d in order) + 18
    places: dict[int, tuple[float, float]] = {}  # device → the left upper corner of its box
    canvas = Canvas()
    for column, owner in enumerate(owners):
        ids = sorted(d.id for d in order if d.process_index == owner)
        left = column * (wide + 36 + GAP)
        canvas.rect(left, 0, wide + 36, TOP + ROW * len(ids) + 4, "box", 6)
        canvas.text(left + wide / 2 + 18, 15, f"host {owner}", "strong")
        for row, i in enumerate(ids):
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
    return canvas.picture(alt_text("ring", ["ring", shown, len(crossing), len(hops)]))


def _hop(canvas: Canvas, a: tuple[float, float], b: tuple[float, float], wide: float, inside: bool) -> None:
    """Draw an arrow from the box at `a` to the box at `b`: straight between neighbours, else around the side."""
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
    """Draw the head of an arrow from `start`, its tip at `end`."""
    (x0, y0), (x, y) = start, end
    length = math.hypot(x - x0, y - y0)
    dx, dy = (x - x0) / length, (y - y0) / length
    wings = [(x - 8 * dx - 4 * s * dy, y - 8 * dy + 4 * s * dx) for s in (1, -1)]
    points = " ".join(f"{number(a)},{number(b)}" for a, b in [(x, y), *wings])
    canvas.add("polygon", points=points, class_=f"{look} head")


def all_reduce(devices: int = 4) -> Picture:
    """Draw what each of `devices` devices holds before a ring all-reduce, between its two halves, and after it.

    An array has as many pieces as there are devices. A piece has the colour of the device whose numbers it contains; a
    piece with all colours is the finished sum. Raises ValueError unless there are 2 to 5 devices.
    """
    if not PIECES[0] <= devices <= PIECES[1]:
        raise ValueError(
            f"an all-reduce of {counted(devices, 'device')} cannot be drawn: choose {PIECES[0]} to {PIECES[1]}"
        )
    canvas, cell, tall = Canvas(), WIDE / devices, BELOW * (devices - 1) + ARRAY
    for row in range(devices):
        canvas.text(LABEL - 10, ABOVE + BELOW * row + ARRAY / 2, f"device {row}", "small", "end")
    for state in range(3):
        left = LABEL + state * (WIDE + BETWEEN)
        for row in range(devices):
            for piece in range(devices):
                x, y = left + piece * cell, ABOVE + BELOW * row
                if state == 0:
                    canvas.rect(x, y, cell, ARRAY, f"cell c{row}", 0)
                elif state == 2 or piece == row:
                    _sum(canvas, x, y, cell, devices)
                else:
                    canvas.rect(x, y, cell, ARRAY, "box", 0)
    for half, name in enumerate(("reduce-scatter", "all-gather")):
        start = LABEL + WIDE + half * (WIDE + BETWEEN)
        middle = start + BETWEEN / 2
        canvas.text(middle, 12, name, "code")
        canvas.arrow([(start + 12, ABOVE + tall / 2), (start + BETWEEN - 12, ABOVE + tall / 2)])
        canvas.text(middle, ABOVE + tall / 2 - 14, f"{devices - 1} pieces" if devices > 2 else "1 piece", "small")
    one, both = devices - 1, 2 * (devices - 1)
    canvas.text(0, ABOVE + tall + 26, f"each device sends 2 × {one} pieces, its array has {devices}",
                "small", "start")  # fmt: skip
    says = ["halves", devices], ["after", devices], ["each half", one, devices, both]
    return canvas.picture(alt_text("all_reduce", *says))


def _sum(canvas: Canvas, x: float, y: float, wide: float, devices: int) -> None:
    """Draw a finished piece: the colours of all devices, one above the other."""
    stripe = ARRAY / devices
    for i in range(devices):
        canvas.rect(x, y + i * stripe, wide, stripe, f"cell c{i}", 0, style="stroke:none")
    canvas.rect(x, y, wide, ARRAY, "cell", 0, style="fill:none;stroke-opacity:.7")
