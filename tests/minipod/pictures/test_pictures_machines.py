"""Pictures of machines, plans and how data goes round: a torus, a ring, an all-reduce in two halves, memory by time."""

import re
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from picture_gallery import GALLERY, SVG, TWO_HOSTS, curves, labels, some_plans

from minipod import pictures, pods, traffic

ZIGZAG = [TWO_HOSTS[i] for i in (0, 4, 1, 5, 2, 6, 3, 7)]


def at(picture, label):
    """Where a label stands: (x, y)."""
    return tuple(map(float, re.search(rf'<text x="([\d.]+)" y="([\d.]+)"[^>]*>{label}</text>', picture.svg).groups()))


def test_chips_stand_at_their_coordinates():
    mesh = pods.mesh("v5e:4x4", data=4, model=4)
    picture = pictures.torus(mesh)
    (x0, y0), (x1, _), (_, y4) = (at(picture, i) for i in (0, 1, 4))
    for device in mesh.devices.flat:
        x, y, _ = device.coords
        assert at(picture, device.id) == pytest.approx((x0 + x * (x1 - x0), y0 + y * (y4 - y0)))


def test_devices_of_one_chip_share_a_box_rows_of_the_mesh_a_colour_and_closed_lines_have_dashes_at_their_ends():
    boxes = sorted(s for s in labels(GALLERY["torus, two devices a chip"]) if s[0].isdigit())
    assert boxes == ["0 1", "2 3", "4 5", "6 7"]
    assert "dash wire" in GALLERY["torus, deep"].svg and "dash wire" not in GALLERY["torus"].svg
    rows = re.findall(r'class="cell c(\d)"', pictures.torus(pods.mesh("v5e:2x4", x=2, y=4)).svg)
    assert sorted(rows) == ["0"] * 4 + ["1"] * 4


def test_a_plan_with_more_memory_stands_further_right_a_longer_one_higher_and_what_does_not_fit_is_listed():
    *fitting, _ = some_plans()
    picture = GALLERY["plans"]
    spots = re.findall(r'd="M([\d.]+) ([\d.]+)[^"]*" class="l\d head"', picture.svg)[3:]
    by_time = sorted(fitting, key=lambda plan: plan.seconds.least)
    assert [float(y) for _, y in spots] == sorted((float(y) for _, y in spots), reverse=True)
    for (x, _), plan in zip(spots, by_time, strict=True):
        others = [float(a) for (a, _), p in zip(spots, by_time, strict=True) if p.memory["peak"] > plan.memory["peak"]]
        assert all(float(x) < other for other in others)
    said = {"these do not fit", "v5e:4x4 16", "bound by compute", "bound by memory", "bound by network"}
    assert said <= {*labels(picture)} and "v5e:4x4 16, does not fit" in picture.alt
    unknown = pictures.plans([fitting[0], replace(fitting[1], loops={"once": 1})])
    assert "these do not fit" not in labels(unknown) and "these fit, but a figure is missing" in labels(unknown)
    assert ", fits, but a figure is missing" in unknown.alt


@pytest.mark.parametrize(("devices", "crossing"), [(TWO_HOSTS, 2), (ZIGZAG, 8), (TWO_HOSTS[:4], 0)])
def test_every_hop_is_drawn_and_those_that_cross_are_dashed(devices, crossing):
    picture = pictures.ring(devices)
    looks = [p.attrib["class"] for p in ET.fromstring(picture.svg).iter(f"{SVG}path")]
    assert sum("wire" in look for look in looks) == len(devices)
    assert sum("wire" in look and "d1" in look for look in looks) == crossing
    said, order = f"{crossing} of {len(devices)} hops cross between hosts", ", ".join(str(d.id) for d in devices)
    assert said in labels(picture) and picture.alt == f"A ring through devices {order} and back: {said}."


def test_an_arrow_ends_at_the_box_of_the_next_device():
    picture = pictures.ring(ZIGZAG)
    root = ET.fromstring(picture.svg)
    rects = [r.attrib for r in root.iter(f"{SVG}rect") if "device" in r.attrib["class"]]
    boxes = [[float(r[k]) for k in ("x", "y", "width", "height")] for r in rects]
    tips = [map(float, p.attrib["points"].split()[0].split(",")) for p in root.iter(f"{SVG}polygon")]
    for (x, y), (left, top, width, height) in zip(tips, [*boxes[1:], boxes[0]], strict=True):
        assert min(abs(x - left), abs(x - left - width)) < 0.1 and top < y < top + height


def test_dots_lie_where_their_values_are():
    places = np.array([1.0, 2.0, 3.0])
    picture = pictures.curve({"one device": places, "data parallel": places * 2}, dots={"data parallel": places * 2})
    (_, line) = curves(picture)
    marks = [p.attrib["d"] for p in ET.fromstring(picture.svg).iter(f"{SVG}path") if "head" in p.attrib["class"]]
    corners = [tuple(map(float, re.findall(r"-?[\d.]+", mark)[:2])) for mark in marks]
    assert [(round(x + 3.4, 1), round(y + 3.4, 1)) for x, y in corners] == [(x, y) for x, y in line]


def held(picture: pictures.Picture, devices: int) -> list[list[list[set[int]]]]:
    """The devices whose numbers each piece holds, by state, device and piece: the colours within its outline."""
    found: dict[tuple[int, int], set[int]] = {}
    rects = [r.attrib for r in ET.fromstring(picture.svg).iter(f"{SVG}rect")]
    cells = [r for r in rects if r["height"] == "20"]
    lefts, tops = (sorted({float(r[k]) for r in cells}) for k in "xy")
    for r in rects:
        column = max(i for i, x in enumerate(lefts) if x <= float(r["x"]))
        row = max(i for i, y in enumerate(tops) if y <= float(r["y"]))
        named = re.search(r"c(\d)$", r["class"])
        found.setdefault((column, row), set()).update({int(named[1])} if named else ())
    return [[[found[s * devices + p, d] for p in range(devices)] for d in range(devices)] for s in range(3)]


@pytest.mark.parametrize("devices", [2, 3, 4, 5])
def test_each_half_leaves_what_its_name_says(devices):
    everyone = set(range(devices))
    before, between, after = held(pictures.all_reduce(devices), devices)
    assert before == [[{d}] * devices for d in range(devices)]
    assert between == [[everyone if p == d else set() for p in range(devices)] for d in range(devices)]
    assert after == [[everyone] * devices] * devices


@pytest.mark.parametrize("devices", [2, 4, 5])
def test_the_pieces_it_counts_are_the_bytes_of_the_bill(devices):
    picture = pictures.all_reduce(devices)
    _, each, of = map(int, re.findall(r"\d+", labels(picture)[-1]))
    assert (each, 2 * each) == tuple(traffic.sent(op, of, devices) for op in ("all-gather", "all-reduce"))
    assert Counter(labels(picture))["1 piece" if devices == 2 else f"{each} pieces"] == 2
