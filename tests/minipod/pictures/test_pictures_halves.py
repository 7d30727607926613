"""An all-reduce in two halves: every state holds what it should, and both halves together send what the bill says."""

import re
import xml.etree.ElementTree as ET
from collections import Counter

import pytest
from picture_gallery import SVG, labels

from minipod import pictures, traffic


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
    each, _, both, of = map(int, re.findall(r"\d+", labels(picture)[-1]))
    assert (each, both) == tuple(traffic.sent(op, of, devices) for op in ("all-gather", "all-reduce"))
    assert Counter(labels(picture))["1 piece" if devices == 2 else f"{each} pieces"] == 2


@pytest.mark.parametrize("devices", [1, 6])
def test_other_numbers_of_devices_are_refused(devices):
    with pytest.raises(ValueError, match=f"^an all-reduce of {devices} devices cannot be drawn: 2 to 5 can$"):
        pictures.all_reduce(devices)
