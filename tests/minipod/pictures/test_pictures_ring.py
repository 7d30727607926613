"""A ring through hosts: every hop is drawn, and those that cross are counted and look different."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from picture_gallery import SVG, TWO_HOSTS, Device, curves, labels

from minipod import pictures

ZIGZAG = [TWO_HOSTS[i] for i in (0, 4, 1, 5, 2, 6, 3, 7)]


def hops(picture: pictures.Picture) -> list[str]:
    """The classes of the lines."""
    return [p.attrib["class"] for p in ET.fromstring(picture.svg).iter(f"{SVG}path") if "wire" in p.attrib["class"]]


@pytest.mark.parametrize(("devices", "crossing"), [(TWO_HOSTS, 2), (ZIGZAG, 8), (TWO_HOSTS[:4], 0)])
def test_every_hop_is_drawn_and_those_that_cross_are_dashed(devices, crossing):
    picture = pictures.ring(devices)
    drawn = hops(picture)
    assert len(drawn) == len(devices) and sum("d1" in look for look in drawn) == crossing
    assert f"{crossing} of {len(devices)} hops cross between hosts" in labels(picture)
    order = ", ".join(str(d.id) for d in devices)
    assert picture.alt == (
        f"A ring through devices {order} and back: {crossing} of {len(devices)} hops cross between hosts."
    )


def test_an_arrow_ends_at_the_box_of_the_next_device():
    picture = pictures.ring(ZIGZAG)
    boxes = [
        (float(r.attrib["x"]), float(r.attrib["y"]), float(r.attrib["width"]), float(r.attrib["height"]))
        for r in ET.fromstring(picture.svg).iter(f"{SVG}rect")
        if "device" in r.attrib["class"]
    ]
    tips = [
        tuple(map(float, p.attrib["points"].split()[0].split(",")))
        for p in ET.fromstring(picture.svg).iter(f"{SVG}polygon")
    ]
    for (x, y), (left, top, width, height) in zip(tips, [*boxes[1:], boxes[0]], strict=True):
        assert min(abs(x - left), abs(x - left - width)) < 0.1 and top < y < top + height


def test_dots_lie_where_their_values_are():
    places = np.array([1.0, 2.0, 3.0])
    picture = pictures.curve({"one device": places, "data parallel": places * 2}, dots={"data parallel": places * 2})
    (_, line) = curves(picture)
    marks = [p.attrib["d"] for p in ET.fromstring(picture.svg).iter(f"{SVG}path") if "head" in p.attrib["class"]]
    corners = [tuple(map(float, re.findall(r"-?[\d.]+", mark)[:2])) for mark in marks]
    assert [(round(x + 3.4, 1), round(y + 3.4, 1)) for x, y in corners] == [(x, y) for x, y in line]


@pytest.mark.parametrize(
    ("call", "kind", "word"),
    [
        (lambda: pictures.ring([1, 2]), TypeError, "expected a list of devices"),
        (lambda: pictures.ring(TWO_HOSTS[:1]), ValueError, "a ring of 1 devices"),
        (lambda: pictures.ring([Device(i, 0) for i in range(17)]), ValueError, "2 to 16"),
        (lambda: pictures.ring([Device(i, i) for i in range(3)]), ValueError, "at most 2"),
        (lambda: pictures.curve({"a": [1]}, dots={"b": [1]}), ValueError, "no line called 'b'"),
    ],
)
def test_what_cannot_be_drawn_is_one_sentence(call, kind, word):
    with pytest.raises(kind) as caught:
        call()
    assert word in str(caught.value) and "\n" not in str(caught.value)
