"""Draw boxes in a grid with lines between them; each line that is not straight gets its own lane."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations

from minipod.drawing.grids import WIDE
from minipod.drawing.svg import Canvas, number, text_width

HIGH, LANE, FIRST = 30.0, 9.0, 13.0  # a box; from one lane to the next; from a box to its first lane
CLOSE, SLICE = 8.0, 16.0  # between two columns that nothing joins; more of it between two slices

Place = tuple[int, int]  # row, column
Point = tuple[float, float]


@dataclass
class Stage:
    """Boxes at their places and the lines that join them. First join everything, then `measure`, then `draw`.

    labels: place → label of its box. slices: number of columns in a slice of the mesh, 0 for a flat one.
    """

    labels: dict[Place, str]
    slices: int = 0
    taken: dict[tuple[str, int], list[list[tuple[float, float]]]] = field(default_factory=dict)
    wires: list[Callable[[], None]] = field(default_factory=list)
    straight: set[str] = field(default_factory=set)  # "down" and "across", if there are arrows between neighbours

    def __post_init__(self) -> None:
        self.rows = 1 + max(r for r, _ in self.labels)
        self.columns = 1 + max(c for _, c in self.labels)

    def lane(self, kind: str, index: int, low: float, high: float, deep: int = 1) -> int:
        """Return the first of `deep` free lanes below row `index`, or right of column `index` (-1: left of all)."""
        lanes, first = self.taken.setdefault((kind, index), []), 0
        while True:
            lanes.extend([] for _ in range(first + deep - len(lanes)))
            if all(high < a or b < low for used in lanes[first : first + deep] for a, b in used):
                for used in lanes[first : first + deep]:
                    used.append((low, high))
                return first
            first += 1

    def join(self, places: Sequence[Place], look: str, source: Place | None = None) -> None:
        """Join places by a bus with a branch to each; branches end in an arrow head, except at `source`."""
        rows, columns = (sorted({p[i] for p in places}) for i in (0, 1))
        if len(columns) == 1 and len(rows) > 1:
            lane = self.lane("column", columns[0], rows[0], rows[-1])
            self.wires.append(partial(self._bus, "column", columns[0], lane, places, look, source))
            return
        several, lanes = len(rows) > 1, []
        trunk = self.lane("column", self.columns - 1, rows[0], rows[-1] + 0.5) if several else None
        for row in rows:
            row_places = [p for p in places if p[0] == row]
            at = [p[1] for p in row_places]
            lanes.append((row, self.lane("row", row, min(at), self.columns if several else max(at))))
            # pyrefly: ignore[bad-argument-count]
            self.wires.append(partial(self._bus, "row", *lanes[-1], row_places, look, source, trunk))
        if trunk is not None:
            self.wires.append(partial(self._trunk, trunk, lanes, look))

    def exchange(self, places: Sequence[Place], look: str) -> bool:
        """Join each pair of `places` by an arc. Returns False, without drawing, unless all are in one row or column."""
        kind = "row" if len({p[0] for p in places}) == 1 else "column"
        index, along = (places[0][0], 1) if kind == "row" else (places[0][1], 0)
        if len({p[1 - along] for p in places}) > 1:
            return False
        at = sorted(p[along] for p in places)
        lane = self.lane(kind, index, at[0], at[-1], len(at) - 1)
        self.wires.append(partial(self._arcs, kind, lane, sorted(places), look))
        return True

    def send(self, a: Place, b: Place, back: bool, look: str) -> None:
        """Add an arrow from `a` to `b`, straight between neighbours. back: there is also an arrow from `b` to `a`."""
        (ra, ca), (rb, cb) = a, b
        if abs(ra - rb) + abs(ca - cb) == 1:
            self.straight.add("across" if ra == rb else "down")
            self.wires.append(partial(self._straight, a, b, back, look))
        elif ra == rb or ca == cb:
            kind, index, low, high = ("row", ra, ca, cb) if ra == rb else ("column", ca, ra, rb)
            lane = self.lane(kind, index, min(low, high), max(low, high))
            self.wires.append(partial(self._around, kind, lane, a, b, look))
        else:
            # Below the row of `a` to the gap left of the column of `b`, and along it
            low = self.lane("row", ra, min(ca, cb - 0.5), max(ca, cb - 0.5))
            left = self.lane("column", cb - 1, min(ra + 0.5, rb), max(ra + 0.5, rb))
            self.wires.append(partial(self._bent, low, left, a, b, look))

    def measure(self, x: float) -> bool:
        """Place the columns from `x` on. Returns whether whole labels fit."""
        after = [self._gap("column", c, "across", CLOSE) for c in range(self.columns)]
        for c in range(self.slices - 1, self.columns - 1, self.slices) if self.slices else ():
            after[c] += SLICE
        self.margin = self._gap("column", -1, "", 0.0)
        last = after[-1] if ("column", self.columns - 1) in self.taken else 0.0
        room = WIDE - x - self.margin - sum(after[:-1]) - last
        least = max(text_width(label.rpartition(" ")[2]) for label in self.labels.values()) + 6
        self.wide = min(84.0, max(least, room / self.columns))
        self.x = [x + self.margin + c * self.wide + sum(after[:c]) for c in range(self.columns)]
        return all(text_width(label) <= self.wide - 8 for label in self.labels.values())

    def draw(self, canvas: Canvas, y: float, long: bool, titles: Sequence[str] = ()) -> None:
        """Draw boxes and wires from `y` down. long: whether to draw whole labels or only numbers. titles: of slices."""
        self.canvas = canvas
        if titles:
            for i, title in enumerate(titles):
                canvas.text(self.x[i * self.slices], y + 7, title, "code", "start")
            y += 20
        below = [self._gap("row", r, "down", 10.0) for r in range(self.rows)]
        self.y = [y + r * HIGH + sum(below[:r]) for r in range(self.rows)]
        for (row, column), label in self.labels.items():
            middle = (self.x[column] + self.wide / 2, self.y[row] + HIGH / 2)
            if label == "…":
                canvas.text(*middle, label, "soft")
                continue
            canvas.rect(self.x[column], self.y[row], self.wide, HIGH, "tint device")
            canvas.text(*middle, label if long else label.rpartition(" ")[2])
        for wire in self.wires:
            wire()
        canvas.grow(self.x[-1] + self.wide, self.y[-1] + HIGH)

    def _gap(self, kind: str, index: int, straight: str, least: float) -> float:
        lanes = len(self.taken.get((kind, index), []))
        least = max(least, 24.0 if straight in self.straight else 0.0)
        return max(least, FIRST + LANE * (lanes - 1) + (12 if kind == "column" else 8) if lanes else 0.0)

    def _lane(self, kind: str, index: int, lane: int) -> float:
        """Return where a lane is: its y below a row, its x right of a column."""
        if kind == "row":
            return self.y[index] + HIGH + FIRST + LANE * lane
        edge = self.x[index] + self.wide if index >= 0 else self.x[0] - self.margin
        return edge + FIRST + LANE * lane

    def _port(self, kind: str, place: Place, shift: float = 0.0) -> Point:
        """Return the point on the lower (kind `row`) or right edge of a box, `shift` off its middle."""
        row, column = place
        if kind == "row":
            return self.x[column] + self.wide / 2 + shift, self.y[row] + HIGH
        return self.x[column] + self.wide, self.y[row] + HIGH / 2 + shift

    def _bus(
        self, kind: str, index: int, lane: int, places: Sequence[Place], look: str, source: Place | None,
        trunk: int | None = None,
    ) -> None:  # fmt: skip
        level = self._lane(kind, index, lane)
        ends = []
        for place in places:
            port = self._port(kind, place)
            foot = (port[0], level) if kind == "row" else (level, port[1])
            ends.append(foot)
            self._line([foot, port], look, tip=place != source)
        if trunk is not None:
            ends.append((self._lane("column", self.columns - 1, trunk), level))
        ends.sort()
        self._line([ends[0], ends[-1]], look, tip=False)
        for point in ends[1:-1]:
            self._dot(point, look)

    def _trunk(self, trunk: int, lanes: Sequence[tuple[int, int]], look: str) -> None:
        """Draw the line down the right margin that joins the buses, each in its (row, lane)."""
        x = self._lane("column", self.columns - 1, trunk)
        levels = [self._lane("row", *at) for at in lanes]
        self._line([(x, levels[0]), (x, levels[-1])], look, tip=False)
        for level in levels[1:-1]:
            self._dot((x, level), look)

    def _arcs(self, kind: str, lane: int, places: Sequence[Place], look: str) -> None:
        """Draw arcs with a head at both ends, deeper for boxes further apart. The heads at a box are side by side."""
        step = min(8.0, ((self.wide if kind == "row" else HIGH) - 8) / max(1, len(places) - 1))
        for i, j in combinations(range(len(places)), 2):
            # At box k the head for partner p is number p, or p - 1 beyond the box itself
            shifts = [(n - (len(places) - 2) / 2) * step for n in (j - 1, i)]
            a, b = (self._port(kind, places[k], s) for k, s in zip((i, j), shifts, strict=True))
            deep = (FIRST + LANE * (lane + j - i - 1)) / 0.75
            if kind == "row":
                path = [(a[0], a[1] + 5), (a[0], a[1] + deep), (b[0], b[1] + deep), (b[0], b[1] + 5)]
                self.canvas.grow(b[0], a[1] + deep * 0.75)
            else:
                path = [(a[0] + 5, a[1]), (a[0] + deep, a[1]), (b[0] + deep, b[1]), (b[0] + 5, b[1])]
                self.canvas.grow(a[0] + deep * 0.75, b[1])
            start, *rest = (f"{number(px)} {number(py)}" for px, py in path)
            self.canvas.add("path", d=f"M{start}C{' '.join(rest)}", class_=f"wire {look}")
            for x, y in (a, b):
                self.canvas.head(x, y, -(kind == "column"), -(kind == "row"), f"{look} head")

    def _straight(self, a: Place, b: Place, back: bool, look: str) -> None:
        across = a[0] == b[0]
        ahead = b > a
        shift = (6.0 if ahead else -6.0) if back else 0.0
        if across:
            y = self.y[a[0]] + HIGH / 2 + shift
            left, right = sorted((a[1], b[1]))
            ends = [(self.x[left] + self.wide + 1.5, y), (self.x[right] - 1.5, y)]
        else:
            x = self.x[a[1]] + self.wide / 2 + shift
            upper, lower = sorted((a[0], b[0]))
            ends = [(x, self.y[upper] + HIGH + 1.5), (x, self.y[lower] - 1.5)]
        self._line(ends if ahead else ends[::-1], look)

    def _around(self, kind: str, lane: int, a: Place, b: Place, look: str) -> None:
        shift = min(self.wide, HIGH) / 5
        start, end = self._port(kind, a, shift), self._port(kind, b, -shift)
        level = self._lane(kind, a[0] if kind == "row" else a[1], lane)
        bends = [(start[0], level), (end[0], level)] if kind == "row" else [(level, start[1]), (level, end[1])]
        self._line([start, *bends, end], look)

    def _bent(self, low: int, left: int, a: Place, b: Place, look: str) -> None:
        start = self._port("row", a, min(self.wide, HIGH) / 5)
        # Above the ports of `_around`: one may enter the box on the other side of the gap
        end = self.x[b[1]], self.y[b[0]] + HIGH * 0.14
        y, x = self._lane("row", a[0], low), self._lane("column", b[1] - 1, left)
        self._line([start, (start[0], y), (x, y), (x, end[1]), end], look)

    def _line(self, points: Sequence[Point], look: str, tip: bool = True) -> None:
        if tip:
            self.canvas.arrow(points, f"wire {look}", f"{look} head")
        else:
            path = "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points)
            self.canvas.add("path", d=path, class_=f"wire {look}")
        for point in points:
            self.canvas.grow(*point)

    def _dot(self, point: Point, look: str) -> None:
        self.canvas.add("circle", cx=point[0], cy=point[1], r=2.2, class_=f"{look} head")
