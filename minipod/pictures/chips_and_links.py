"""Draw the chips of a slice at their coordinates, the links between them, and the path of a mesh axis."""

from typing import Any

from minipod.drawing.phrases import Phrase, alt_text, several
from minipod.drawing.svg import Canvas, Picture, number, text_width
from minipod.pictures.placement import checked
from minipod.torus import Torus, torus_of

MOST, PLANES = 8, 4  # chips side by side, planes (the third axis): more would not fit on a phone
GAP = 12.0  # between chips


def torus(mesh: Any, closes: int = 16) -> Picture:
    """Draw the torus of `mesh`: x to the right, y down, a panel for each z.

    Thick lines join neighbours along the mesh's last axis; chips of one colour are a row of the mesh. Dashes at both
    ends of a line mean that the line is a ring. closes: 16 for v5e and v6e, 4 for v4, v5p and 7x (see
    `minipod.torus.torus_of`). Raises TypeError unless `mesh` is a mesh with devices; ValueError for devices without
    coordinates or of several slices, and for a torus of more than 8 × 8 × 4 chips.
    """
    checked(mesh)
    lies = torus_of(mesh, closes)
    if lies is None:
        raise ValueError("these devices have no coordinates: give a mesh of TPUs, such as minipod.pods.mesh returns")
    if lies.slices:
        raise ValueError(f"these devices lie on {len({*lies.slices})} slices: draw the mesh of one slice")
    wide, tall, deep = (*lies.shape, 1, 1)[:3]
    shape = "x".join(str(n) for i, n in enumerate(lies.shape) if i < 2 or n > 1)
    if max(wide, tall) > MOST or deep > PLANES:
        raise ValueError(f"a torus of {shape} chips cannot be drawn: at most {MOST}x{MOST}x{PLANES} can")
    chips: dict[tuple[int, ...], list[int]] = {}
    for place, device in zip(lies.coords, mesh.devices.flat, strict=True):
        chips.setdefault((*place, 0, 0)[:3], []).append(device.id)
    labels = {place: " ".join(map(str, sorted(ids))) for place, ids in chips.items()}
    side = max(24.0, max(text_width(word, 12, True) for word in labels.values()) + 8)
    canvas, step = Canvas(), side + GAP
    for plane in range(deep):
        left, top = 16 + plane % 2 * (wide * step + 30), 34 + plane // 2 * (tall * step + 44) + 20 * (deep > 1)
        if deep > 1:
            canvas.text(left, top - 24, f"z = {plane}", "code", "start")
        _links(canvas, lies, left, top, side, step)
        _walk(canvas, mesh, lies, plane, left, top, side, step)
        for (x, y, z), word in labels.items():
            if z == plane:
                row = _row(mesh, lies, (x, y, z))
                canvas.shard(left + x * step, top + y * step, side, 24, row)
                canvas.text(left + x * step + side / 2, top + y * step + 12, word, "code on")
    canvas.text(16, 8, "each box is a chip, each number a device", "small", "start")
    return canvas.picture(alt_text("torus", _says(mesh, lies, labels, shape)))


def _row(mesh: Any, lies: Torus, place: tuple[int, ...]) -> int:
    """Return the number of a chip's row in the mesh: devices that differ in the last axis only."""
    first = next(i for i, coords in enumerate(lies.coords) if (*coords, 0, 0)[:3] == place)
    return first // mesh.devices.shape[-1]


def _links(canvas: Canvas, lies: Torus, left: float, top: float, side: float, step: float) -> None:
    """Draw thin lines between neighbours, and dashes where a line goes round to its other end."""
    wide, tall = (*lies.shape, 1)[:2]
    across, down = (*lies.closed, False)[:2]
    right, bottom = left + (wide - 1) * step + side, top + (tall - 1) * step + 24
    for y in range(tall):
        at = top + y * step + 12
        canvas.add("path", d=f"M{number(left)} {number(at)}H{number(right)}", class_="line")
        if across:
            canvas.add(
                "path", d=f"M{number(left - 10)} {number(at)}h10M{number(right)} {number(at)}h10", class_="dash wire"
            )
    for x in range(wide):
        at = left + x * step + side / 2
        canvas.add("path", d=f"M{number(at)} {number(top)}V{number(bottom)}", class_="line")
        if down:
            canvas.add(
                "path", d=f"M{number(at)} {number(top - 10)}v10M{number(at)} {number(bottom)}v10", class_="dash wire"
            )
    canvas.grow(right + 12, bottom + 12)


def _walk(
    canvas: Canvas, mesh: Any, lies: Torus, plane: int, left: float, top: float, side: float, step: float
) -> None:
    """Draw thick lines along the mesh's last axis, within a plane."""
    length, path = mesh.devices.shape[-1], []
    for i in range(len(lies.coords) - 1):
        a, b = ((*lies.coords[k], 0, 0)[:3] for k in (i, i + 1))
        if (i + 1) % length and a != b and a[2] == b[2] == plane:
            (ax, ay), (bx, by) = ((left + p[0] * step + side / 2, top + p[1] * step + 12) for p in (a, b))
            path.append(f"M{number(ax)} {number(ay)}L{number(bx)} {number(by)}")
    if path:
        canvas.add("path", d="".join(path), class_="wire l0", style="stroke-width:5")


def _says(mesh: Any, lies: Torus, labels: dict[tuple[int, ...], str], shape: str) -> Phrase:
    names = ", ".join(f"{name}={size}" for name, size in mesh.shape.items())
    order = [labels[(*place, 0, 0)[:3]] for place in dict.fromkeys(lies.coords)]
    return ["torus", shape, names, several(order, 12)]
