"""A picture of host and device in time: steps waited for, and steps queued."""

from minipod.drawing import Canvas, Picture, text_width

WIDE, TALL, ROW = 300.0, 24.0, 30.0  # the longer way; a box; lane to lane
MOST = 8  # steps that are drawn


def in_time(host: int, device: int, steps: int) -> Picture:
    """Two ways to run steps of `host`, then `device` units of time.

    Above, Python waits in every step; below, only once, at the end. Under each
    stands its whole time. ValueError for what cannot be drawn.
    """
    if min(host, device) < 1 or not 2 <= steps <= MOST:
        raise ValueError(
            f"{steps} steps of {host} and {device} units cannot be drawn: "
            f"2 to {MOST} steps, of at least 1 unit each, can"
        )
    canvas = Canvas()
    unit = WIDE / (steps * (host + device))
    least, most = sorted((host, device))
    one_by_one = steps * (host + device)
    queued = steps * most + least
    ways = (
        (
            "wait in every step",
            True,
            f"{steps} × ({host} + {device})",
            one_by_one,
        ),
        ("wait once, at the end", False, f"{steps} × {most} + {least}", queued),
    )
    top = 0.0
    for title, wait, formula, total in ways:
        canvas.text(0, top + 8, title, "small strong", "start")
        _lanes(canvas, top + 22, unit, spans(host, device, steps, wait))
        right = 56 + unit * total
        bottom = top + 22 + ROW + TALL
        canvas.add(
            "path",
            d=f"M{right:.1f} {top + 18:.1f}V{bottom + 8:.1f}",
            class_="line",
        )
        said = f"{formula} = {total}"
        x = max(right - text_width(said, 12, True), 0)
        canvas.text(x, bottom + 18, said, "code", "start")
        top = bottom + 44
    return canvas.picture(
        f"Host and device in time, {steps} steps of {host} and {device}: "
        f"waited for in every step they take {one_by_one}, queued {queued}."
    )


def spans(host: int, device: int, steps: int, wait: bool) -> list[dict]:
    """Who works when: dicts of step, lane ("host", "device"), start and end."""
    found, free, done = [], 0, 0  # when the host is free; when the device is
    for step in range(1, steps + 1):
        begin = done if wait else free
        free = begin + host
        start = max(free, done)
        done = start + device
        found.append(
            {"step": step, "lane": "host", "start": begin, "end": free}
        )
        found.append(
            {"step": step, "lane": "device", "start": start, "end": done}
        )
    return found


def _lanes(canvas: Canvas, top: float, unit: float, found: list[dict]) -> None:
    for row, lane in enumerate(("host", "device")):
        y = top + row * ROW
        canvas.text(48, y + TALL / 2, lane, "small", "end")
        for span in (s for s in found if s["lane"] == lane):
            x, wide = (
                56 + unit * span["start"],
                unit * (span["end"] - span["start"]),
            )
            look = "tint copy" if lane == "host" else "tint device"
            canvas.rect(x + 1, y, wide - 2, TALL, look, 3)
            canvas.text(x + wide / 2, y + TALL / 2, str(span["step"]), "code")
