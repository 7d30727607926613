"""Draw what a program's devices send to each other: collectives as lines between the devices of a mesh."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jax.sharding import Mesh

from minipod.drawing.grids import WIDE, draw
from minipod.drawing.phrases import Phrase, alt_text, devices, few, several
from minipod.drawing.svg import Canvas, Picture, text_width
from minipod.drawing.wiring import Place, Stage
from minipod.hlo.ops import OPS, Collective
from minipod.pictures.placement import checked, grids
from minipod.ranges import counted
from minipod.traffic import bill

PANELS, DEVICES, PER_ROW = 4, 16, 8
PAIRS = 4  # devices in a group among which an all-to-all is drawn pair by pair; a bundle of lines stands for more
LOOKS: dict[str, str] = dict(zip(OPS, ("l0 d0", "l1 d1", "l2 d2", "l3 d0", "l4 d0", "l5 d3", "l3 d4"), strict=True))


@dataclass
class Scene:
    """The content of one panel.

    sizes: sizes of the grid, by axis name. ids: device ids, row by row, None for an ellipsis. groups: positions in
    `ids`. hidden: number of groups that are left out. alike: whether all groups have the same size.
    """

    sizes: dict[str, int]
    ids: list[int | None]
    groups: list[tuple[int, ...]]
    hidden: int = 0
    alike: bool = True


def traffic(collectives: Sequence[Collective], mesh: Mesh) -> Picture:
    """Draw the collectives that `minipod.traffic.of(...)` returns as lines between the devices of `mesh`, a panel each.

    A branching line joins the devices of a group; a collective-permute is an arrow from each source to its target; an
    all-to-all is an arc between any two devices of a group. Equal collectives share a panel, and their times are added,
    as in `minipod.traffic.table`; panels after the fourth are only counted. For a mesh of more than 16 devices, only
    the first group is drawn.
    Raises TypeError unless the arguments are a list of collectives and a mesh with devices; ValueError for a mesh that
    has fewer devices than the program.
    """
    checked(mesh)
    ids = [d.id for d in mesh.devices.flat]
    kinds = bill.merged(_moving(collectives, len(ids)))
    over = ["along axes", ["count", len(ids)], ", ".join(f"{n}: {s}" for n, s in mesh.shape.items())]
    if not kinds:
        return draw(grids(mesh), [], ["nothing is sent"], alt_text("traffic", ["colon", over, ["nothing"]]), 0.0)
    panels, numbered = [_Panel(c, mesh) for c in kinds[:PANELS]], len(kinds) > 1
    long = all([panel.stage.measure(panel.left) for panel in panels])
    canvas = Canvas()
    for i, panel in enumerate(panels):
        panel.draw(canvas, f"{i + 1}" if numbered else "", long)
    rest = len(kinds) - PANELS
    notes = [f"and {counted(rest, 'more collective')}"] if rest > 0 else []
    for note in notes + ["each number is a device"] * (not long):
        canvas.text(0, canvas.height + 15, note, "small soft", "start")
    heads = [_what(c) for c in kinds[:PANELS]]
    sentences = [["colon", head, _who(c, ids)] for head, c in zip(heads, kinds, strict=False)]
    says = [over, *(["numbered", i, s] for i, s in enumerate(sentences, 1))] if numbered else [over, *sentences]
    says += [["more", rest]] * (rest > 0)
    return canvas.picture(alt_text("traffic", *says, caption=["caption", over, ["list", *heads]]))


def _moving(collectives: Sequence[Collective], size: int) -> list[Collective]:
    """Return the collectives that move data. Raises TypeError or ValueError if `size` devices cannot show them."""
    if isinstance(collectives, Collective) or not isinstance(collectives, Sequence):
        raise TypeError(f"expected the list that minipod.traffic.of returns, got {type(collectives).__name__}")
    moving = []
    for c in collectives:
        if not isinstance(c, Collective):
            raise TypeError(f"expected the list that minipod.traffic.of returns, found {type(c).__name__} in it")
        if not any(len(set(group)) > 1 for group in c.groups):
            continue  # nothing moves
        if (highest := max(map(max, filter(None, c.groups)))) >= size:
            raise ValueError(
                f"the program runs on {highest + 1} devices or more, but the mesh has {size}: "
                "give the program's own mesh"
            )
        moving.append(c)
    return moving


class _Panel:
    """One collective: its devices and lines, measured before any panel is drawn."""

    def __init__(self, c: Collective, mesh: Mesh) -> None:
        self.c, self.scene = c, _scene(c, mesh)
        self.names, self.sizes = list(self.scene.sizes), list(self.scene.sizes.values()) or [len(self.scene.ids)]
        self.left = 0.0 if len(self.sizes) < 2 else 20.0
        self.deep = math.prod(self.sizes[:-2])
        places = _places(self.sizes)
        labels = ["…" if i is None else f"device {i}" for i in self.scene.ids]
        self.stage = Stage(dict(zip(places, labels, strict=True)), self.sizes[-1] if self.deep > 1 else 0)
        self.look = _join(self.stage, c, [[places[i] for i in group] for group in self.scene.groups])

    def draw(self, canvas: Canvas, number: str, long: bool) -> None:
        """Draw the panel below those already on the canvas."""
        y = _title(canvas, self.c, self.look, number, canvas.height + 30 if canvas.parts else 8.0)
        if self.names:
            canvas.text(self.left + 1, y + 6, f"axis {self.names[-1]}", "small soft", "start")
            y += 19
        self.stage.draw(canvas, y, long, self._slices() if self.deep > 1 else ())
        if self.left:
            canvas.upright(6, (self.stage.y[0] + canvas.height) / 2, f"axis {self.names[-2]}", "small soft")
        if self.scene.hidden:
            note = f"and {counted(self.scene.hidden, 'more group')}{' of the same size' * self.scene.alike}"
            canvas.text(self.left + 1, canvas.height + 15, note, "small soft", "start")

    def _slices(self) -> list[str]:
        """`x = 0`, `x = 1`: what the leading axes are in each slice."""
        leading = self.sizes[:-2]
        indices = [np.unravel_index(i, leading) for i in range(self.deep)]
        return [", ".join(f"{n} = {i}" for n, i in zip(self.names, at, strict=False)) for at in indices]


def _title(canvas: Canvas, c: Collective, look: str, number: str, y: float) -> float:
    """Draw the title: number, a piece of the line, name and figures. Returns the y below it."""
    x = 0.0
    if number:
        canvas.text(x, y, number, "code strong", "start")
        x += 18
    canvas.add("path", d=f"M{x:.0f} {y:.0f}h26", class_=f"wire {look}")
    x += 34
    for word, class_ in [(c.op, "code strong"), *((w, "code" if w[0] == "×" else "small") for w in _words(c))]:
        wide = text_width(word, 12, "code" in class_)
        if x + wide > WIDE:
            x, y = 18.0 if number else 0.0, y + 19
        canvas.text(x, y, word, class_, "start")
        x += wide + 12
    return y + 16


def _words(c: Collective) -> list[str]:
    lines = [counted(c.bytes, "byte")]
    if c.axes:
        lines.append(f"along {', '.join(c.axes)}")
    if c.times is None:
        lines.append("in a loop of unknown length")
    elif c.times != 1:
        lines.append(f"× {c.times:,}")
    if c.branch:
        lines.append(f"only in branch {', '.join(str(number) for _, number in c.branch)}")
    return lines


def _join(stage: Stage, c: Collective, groups: list[list[Place]]) -> str:
    """Join the devices of the groups on the stage. Returns the look of the lines."""
    look, pairs = LOOKS[c.op], {tuple(g) for g in groups}
    for group in groups:
        if len(set(group)) < 2:
            continue
        if c.op == "collective-permute":
            stage.send(group[0], group[1], (group[1], group[0]) in pairs, look)
        elif c.op != "all-to-all":
            stage.join(group, look, group[0] if c.op == "collective-broadcast" else None)
        elif len(group) > PAIRS or not stage.exchange(group, look):
            look = f"{LOOKS[c.op]} bundle"
            stage.join(group, look)
    return look


def _places(sizes: Sequence[int]) -> list[Place]:
    """Return the place of each device, in the mesh's order: rows of 8 for one axis, otherwise slices side by side."""
    if len(sizes) < 2:
        return [divmod(i, PER_ROW) for i in range(math.prod(sizes))]
    rows, columns = sizes[-2:]
    return [
        (row, deep * columns + column)
        for deep in range(math.prod(sizes[:-2])) for row in range(rows) for column in range(columns)
    ]  # fmt: skip


def _scene(c: Collective, mesh: Mesh) -> Scene:
    """Return the whole mesh without its axes of size 1, or its first group if there are too many devices."""
    ids = [d.id for d in mesh.devices.flat]
    sizes = {str(n): s for n, s in mesh.shape.items()}
    if len(ids) <= DEVICES:
        long = {n: s for n, s in sizes.items() if s > 1} or dict(list(sizes.items())[:1])
        return Scene(long, [*ids], list(c.groups))
    return _one_chain(c, ids) if c.op == "collective-permute" else _one_group(c, ids, sizes)


def _one_chain(c: Collective, ids: list[int]) -> Scene:
    """Return the first ring or chain of a permute; the arrows into and out of the ellipsis lead to its place."""
    chains = _chains(c.groups)
    drawn, at = _row(chains[0], ids)
    gap = drawn.index(None) if None in drawn else 0
    at = dict.fromkeys(chains[0], gap) | at
    pairs = {(at[a], at[b]) for a, b in c.groups if a in at and b in at}
    axes = {n: len(drawn) for n in c.axes or ()} if len(c.axes or ()) == 1 else {}
    return Scene(axes, drawn, sorted(p for p in pairs if p[0] != p[1]), len(chains) - 1, _alike(chains))


def _one_group(c: Collective, ids: list[int], sizes: dict[str, int]) -> Scene:
    """Return the first group: as a grid if it is a box of several axes, else as a row."""
    groups = [g for g in c.groups if len(g) > 1]
    drawn, at = _row(sorted(groups[0]), ids)
    axes = {n: sizes[n] for n in c.axes or ()}
    if len(axes) == 1:
        axes = dict.fromkeys(axes, len(drawn))
    elif math.prod(axes.values()) != len(drawn) or None in drawn:
        axes = {}
    return Scene(axes, drawn, [tuple(at[i] for i in groups[0] if i in at)], len(groups) - 1, _alike(groups))


def _row(members: Sequence[int], ids: list[int]) -> tuple[list[int | None], dict[int, int]]:
    """Return (devices to draw, None for an ellipsis; position in the mesh → place among them), for some positions."""
    shown = few(len(members), DEVICES if len(members) <= DEVICES else PER_ROW)
    drawn = [None if i is None else ids[members[i]] for i in shown]
    return drawn, {members[i]: place for place, i in enumerate(shown) if i is not None}


def _alike(groups: Sequence[Sequence[int]]) -> bool:
    return len(set(map(len, groups))) == 1


def _chains(pairs: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """Return the rings and open chains that the (source, target) pairs form; every source has one target."""
    after = {a: b for a, b in pairs if a != b}
    starts = [a for a in after if a not in set(after.values())]
    chains: list[tuple[int, ...]] = []
    drawn: set[int] = set()
    for start in [*starts, *after]:
        if start in drawn:
            continue
        chain = [start]
        while (following := after.get(chain[-1])) is not None and following != start and following not in drawn:
            chain.append(following)
        drawn.update(chain)
        chains.append(tuple(chain))
    return chains


def _what(c: Collective) -> Phrase:
    """`all-reduce of 16 bytes along x, 4 times`."""
    axes = ", ".join(map(str, c.axes or ()))
    axes = f"({axes})" if len(c.axes or ()) > 1 else axes
    phrases: list[Phrase] = [["sends along", c.bytes, c.op, axes] if axes else ["sends", c.bytes, c.op]]
    if c.times != 1:
        phrases.append(["loop"] if c.times is None else ["times", c.times])
    if c.branch:
        phrases.append(["branch", "/".join(str(number) for _, number in c.branch)])
    return ["clauses", *phrases]


def _who(c: Collective, ids: Sequence[int]) -> Phrase:
    """`devices 0, 4; devices 1, 5`."""
    if c.op == "collective-permute":
        return ["from", several([["to", ids[a], ids[b]] for a, b in c.groups])]
    return several([devices([ids[i] for i in g]) for g in c.groups])
