"""The picture of a program's traffic: its lines join exactly the devices that work together, and stay apart."""

import itertools
import random
import re
import xml.etree.ElementTree as ET
from collections import defaultdict
from typing import Any

import jax.numpy as jnp
import pytest
from picture_gallery import SVG, all_ops, along, labels, mesh, pod, ring, rows

from minipod import pictures, traffic
from minipod.hlo.collectives import Collective

Box = tuple[float, float, float, float]  # left, top, right, bottom
Point = tuple[float, float]


def boxes(picture: pictures.Picture) -> dict[int, Box]:
    """Device → its box, of a picture with one panel."""
    found = {}
    for part, word in itertools.pairwise(ET.fromstring(picture.svg)):
        if part.attrib.get("class") == "tint device":
            x, y, w, h = (float(part.attrib[k]) for k in ("x", "y", "width", "height"))
            found[int((word.text or "").split()[-1])] = (x, y, x + w, y + h)
    return found


def wires(picture: pictures.Picture) -> list[tuple[list[Point], list[Point]]]:
    """The corners of each line, and the tips of its arrow heads; not the sample of the line in the title."""
    found: list[tuple[list[Point], list[Point]]] = []
    for part in ET.fromstring(picture.svg):
        if part.tag == f"{SVG}path" and part.attrib["class"].startswith("wire") and "h26" not in part.attrib["d"]:
            numbers = [float(n) for n in re.findall(r"-?[\d.]+", part.attrib["d"])]
            found.append((list(zip(numbers[::2], numbers[1::2], strict=True)), []))
        elif part.tag == f"{SVG}polygon":
            x, y = part.attrib["points"].split()[0].split(",")
            found[-1][1].append((float(x), float(y)))
    return found


def at(point: Point, all_boxes: dict[int, Box]) -> int | None:
    """The device whose box has the point on its edge (an arrow may keep 2 pixels off, a line's end 5)."""
    x, y = point
    near = [d for d, (a, b, c, e) in all_boxes.items() if a - 5.5 <= x <= c + 5.5 and b - 5.5 <= y <= e + 5.5]
    return near[0] if near else None


def joined(picture: pictures.Picture) -> set[frozenset[int]]:
    """The sets of devices that the lines join: two lines meet where one ends on the other."""
    places, lines = boxes(picture), wires(picture)
    owner = list(range(len(lines)))

    def on(p: Point, q: Point, r: Point) -> bool:
        (a, b), (c, d) = sorted((q, r))
        return a - 0.1 <= p[0] <= c + 0.1 and min(b, d) - 0.1 <= p[1] <= max(b, d) + 0.1 and (a == c or b == d)

    for i, j in itertools.permutations(range(len(lines)), 2):
        for end in (lines[i][0][0], lines[i][0][-1]):
            if any(on(end, q, r) for q, r in itertools.pairwise(lines[j][0])):
                owner = [owner[i] if o == owner[j] else o for o in owner]
    sets: dict[int, set[int | None]] = defaultdict(set)
    for o, (corners, tips) in zip(owner, lines, strict=True):
        sets[o] |= {at(p, places) for p in (*corners, *tips)} - {None}
    return set(map(frozenset, sets.values()))


def arrows(picture: pictures.Picture) -> set[tuple[int | None, int | None]]:
    places = boxes(picture)
    return {(at(corners[0], places), at(tips[0], places)) for corners, tips in wires(picture)}


def collide(picture: pictures.Picture) -> list[Any]:
    """Pieces of two lines that lie on each other, and pieces that run through a box."""
    pieces = [(i, *sorted(ends)) for i, (c, _) in enumerate(wires(picture)) for ends in itertools.pairwise(c)]
    found: list[Any] = []
    for (i, (a, b), (c, d)), (j, (e, f), (g, h)) in itertools.combinations(pieces, 2):
        flat = b == d == f == h and min(c, g) - max(a, e) > 1
        steep = a == c == e == g and min(d, h) - max(b, f) > 1
        if i != j and (flat or steep):
            found.append((i, j))
    for i, (a, b), (c, d) in pieces:
        for left, top, right, bottom in boxes(picture).values():
            if a < right - 1 and c > left + 1 and min(b, d) < bottom - 1 and max(b, d) > top + 1:
                found.append((i, "box"))
    return found


SHAPES = [(2,), (8,), (16,), (2, 4), (4, 2), (4, 4), (1, 8), (2, 2, 2), (4, 2, 2), (2, 2, 2, 2)]


@pytest.mark.parametrize("op", ["all-reduce", "all-gather", "reduce-scatter"])
def test_lines_join_exactly_the_groups(op):
    for m in (pod(*shape) for shape in SHAPES):
        real = [n for n in m.axis_names if m.shape[n] > 1]
        for axes in (axes for count in range(len(real)) for axes in itertools.combinations(real, count + 1)):
            picture = pictures.traffic([along(m, op, *axes)], m)
            assert joined(picture) == {frozenset(group) for group in rows(m, *axes)}, (m, axes)
            assert len(boxes(picture)) == m.size and collide(picture) == [], (m, axes)
            assert sum(len(tips) for _, tips in wires(picture)) == m.size  # one head at each device


def test_groups_that_are_no_axis_of_the_mesh_are_joined_as_they_are():
    for groups in [((0, 1), (2, 3), (4, 5), (6, 7)), ((0, 4), (1, 5), (2, 6), (3, 7)), ((0, 2, 5), (1, 7))]:
        picture = pictures.traffic([Collective("all-reduce", groups, 16)], pod(8))
        assert joined(picture) == set(map(frozenset, groups)) and collide(picture) == []
        assert not any(said.startswith("along") for said in labels(picture))


def test_every_pair_of_a_permute_is_an_arrow_from_source_to_target():
    draw = random.Random(3)
    for m in (pod(*shape) for shape in 10 * SHAPES):
        targets = list(range(m.size))
        draw.shuffle(targets)
        pairs = tuple((i, t) for i, t in enumerate(targets) if draw.random() < 0.8)
        picture = pictures.traffic([Collective("collective-permute", pairs, 16)], m)
        assert arrows(picture) == {(a, b) for a, b in pairs if a != b} and collide(picture) == [], m


def test_an_all_to_all_is_drawn_pair_by_pair_in_small_groups_and_as_a_bundle_in_large_ones():
    small = pictures.traffic([along(pod(2, 4), "all-to-all", "y")], pod(2, 4))
    pairs = {frozenset(pair) for group in rows(pod(2, 4), "y") for pair in itertools.combinations(group, 2)}
    places = boxes(small)
    drawn = [frozenset(at(tip, places) for tip in tips) for _, tips in wires(small)]
    assert len(drawn) == len(pairs) and set(drawn) == pairs
    large = pictures.traffic([along(pod(8), "all-to-all", "x")], pod(8))
    assert joined(large) == {frozenset(range(8))} and " bundle" in large.svg
    assert " bundle" not in small.svg.split("<path")[1]


def test_a_broadcast_has_no_head_at_its_source():
    picture = pictures.traffic([Collective("collective-broadcast", ((2, 0, 1, 3),), 16)], pod(4))
    tips = {at(tip, boxes(picture)) for _, found in wires(picture) for tip in found}
    assert tips == {0, 1, 3} and joined(picture) == {frozenset(range(4))}


def test_what_is_sent_along_what_and_who_works_together_is_told_in_words():
    picture = pictures.traffic([along(mesh(2, 4), "all-reduce", "x", bytes=32)], mesh(2, 4))
    together = "devices 0, 4; devices 1, 5; devices 2, 6; devices 3, 7"
    assert picture.alt == f"8 devices (x: 2, y: 4). all-reduce of 32 bytes along x: {together}."
    assert {"all-reduce", "32 bytes", "along x"} <= set(labels(picture))


def test_a_loop_and_its_unrolled_form_give_one_picture():
    m = pod(8)
    loop, unrolled = pictures.traffic([ring(m, "x", 7)], m), pictures.traffic([ring(m, "x")] * 7, m)
    assert loop.alt == unrolled.alt and "× 7" in labels(loop) and labels(loop) == labels(unrolled)
    unknown = pictures.traffic([ring(m, "x", None), ring(m, "x")], m)
    assert "in a loop of unknown length" in labels(unknown) and "in a loop of unknown length" in unknown.alt


def test_panels_are_numbered_in_the_order_of_the_program_branches_named_and_the_rest_is_counted():
    m = mesh(2, 4)
    picture = pictures.traffic(all_ops(m, "y"), m)
    said = labels(picture)
    ops = [s for s in said if s in {c.op for c in all_ops(m, "y")}]
    assert ops == ["collective-permute", "all-reduce", "all-gather", "reduce-scatter"]
    assert [s for s in said if s in "1234567"] == ["1", "2", "3", "4"] and "and 3 more collectives" in said
    assert "1" not in labels(pictures.traffic(all_ops(m, "y")[:1], m))
    branch = Collective("all-reduce", rows(pod(8), "x"), 16, 1, ("x",), ((0, 1), (3, 0)))
    picture = pictures.traffic([branch], pod(8))
    assert "only in branch 1, 0" in labels(picture) and "only in branch 1/0" in picture.alt


LARGE = [
    ((4, 4, 4), along, ("all-reduce", "x"), [0, 16, 32, 48], 15),
    ((4, 4, 4), along, ("all-gather", "y", "z"), list(range(16)), 3),
    ((4, 4, 4), ring, ("y",), [0, 4, 8, 12], 15),
    ((1024,), along, ("all-reduce", "x"), [0, 1, 2, 3, 4, 5, 1023], 0),
    ((1024,), ring, ("x",), [0, 1, 2, 3, 4, 5, 1023], 0),
    ((32, 32, 2), along, ("all-to-all", "z"), [0, 1], 1023),
]


@pytest.mark.parametrize(("shape", "make", "axes", "drawn", "hidden"), LARGE)
def test_of_a_large_mesh_one_group_is_drawn_and_the_others_counted(shape, make, axes, drawn, hidden):
    m = pod(*shape)
    picture = pictures.traffic([make(m, *axes)], m)
    assert sorted(boxes(picture)) == drawn and len(picture.svg) < 12_000 and len(picture.alt) < 600
    if make is along:
        assert joined(picture) == {frozenset(drawn)}
    elif m.size == 64:
        assert arrows(picture) == set(zip(drawn, (*drawn[1:], drawn[0]), strict=True))
    else:  # through the ellipsis
        assert {(1023, 0), (4, 5)} <= arrows(picture)
    more = [said for said in labels(picture) if said.startswith("and")]
    assert more == ([f"and {hidden:,} more groups of the same size"] if hidden else [])
    assert all(any(re.fullmatch(pattern, said) for pattern in pictures.LABELS) for said in more)


def test_an_open_chain_in_a_large_mesh_has_no_arrow_back():
    pairs = tuple((i, i + 1) for i in range(31) if i % 8 != 7)
    picture = pictures.traffic([Collective("collective-permute", pairs, 16)], pod(32))
    assert arrows(picture) == set(itertools.pairwise(range(8)))
    assert "and 3 more groups of the same size" in labels(picture)
    uneven = pictures.traffic([Collective("collective-permute", ((0, 1), (4, 5), (5, 6)), 16)], pod(32))
    assert "and 1 more group" in labels(uneven)


def test_a_program_that_sends_nothing_says_so():
    m = mesh(1, 8)
    live = traffic.of(lambda x: x + 1, jnp.ones(8), mesh=m)
    for collectives in ([], [Collective("all-reduce", ((0,), (1,)), 16)], live):
        picture = pictures.traffic(collectives, m)
        assert "nothing is sent" in labels(picture) and picture.alt.endswith(": nothing is sent.")
        assert sorted(boxes(picture)) == [d.id for d in m.devices.flat] and wires(picture) == []
