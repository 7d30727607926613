"""An all-reduce as its two halves: why it sends twice what a reduce-scatter or an all-gather of the same array does."""

from minipod.drawing.phrases import told
from minipod.drawing.svg import Canvas, Picture

LEAST, MOST = 2, 5  # devices: more would not fit on a phone
WIDE, TALL, ROW = 80.0, 20.0, 30.0  # a device's array; from one device to the next
GAP, TOP, LABEL = 86.0, 30.0, 62.0  # between two states; above them; the names of the devices


def all_reduce(devices: int = 4) -> Picture:
    """What each of so many devices holds before an all-reduce by a ring, between its two halves, and after it.

    Every array is cut into as many pieces as there are devices. A piece has the colour of the device whose numbers are
    in it; one with all colours is the finished sum. ValueError for a number of devices that cannot be drawn.
    """
    if not LEAST <= devices <= MOST:
        raise ValueError(f"an all-reduce of {devices} devices cannot be drawn: {LEAST} to {MOST} can")
    canvas, cell, tall = Canvas(), WIDE / devices, ROW * (devices - 1) + TALL
    for row in range(devices):
        canvas.text(LABEL - 10, TOP + ROW * row + TALL / 2, f"device {row}", "small", "end")
    for state in range(3):
        left = LABEL + state * (WIDE + GAP)
        for row in range(devices):
            for piece in range(devices):
                x, y = left + piece * cell, TOP + ROW * row
                if state == 0:
                    canvas.rect(x, y, cell, TALL, f"cell c{row}", 0)
                elif state == 2 or piece == row:
                    _sum(canvas, x, y, cell, devices)
                else:
                    canvas.rect(x, y, cell, TALL, "box", 0)
    for half, name in enumerate(("reduce-scatter", "all-gather")):
        start = LABEL + WIDE + half * (WIDE + GAP)
        middle = start + GAP / 2
        canvas.text(middle, 12, name, "code")
        canvas.arrow([(start + 12, TOP + tall / 2), (start + GAP - 12, TOP + tall / 2)])
        canvas.text(middle, TOP + tall / 2 - 14, f"{devices - 1} pieces" if devices > 2 else "1 piece", "small")
    one, both = devices - 1, 2 * (devices - 1)
    canvas.text(0, TOP + tall + 26, f"each device sends 2 × {one} pieces, its array has {devices}",
                "small", "start")  # fmt: skip
    says = ["halves", devices], ["after", devices], ["each half", one, devices, both]
    return canvas.picture(told("all_reduce", *says))


def _sum(canvas: Canvas, x: float, y: float, wide: float, devices: int) -> None:
    """A piece that is finished: the colours of all devices, one above the other."""
    stripe = TALL / devices
    for i in range(devices):
        canvas.rect(x, y + i * stripe, wide, stripe, f"cell c{i}", 0, style="stroke:none")
    canvas.rect(x, y, wide, TALL, "cell", 0, style="fill:none;stroke-opacity:.7")
