"""Profiles and schedules as lanes: what is drawn is what was done, told apart without colour, and said in words."""

import re
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict

from picture_gallery import SVG, labels, some_profile, some_schedule

from minipod import pictures
from minipod.drawing.grids import WIDE
from minipod.pictures import profile_lanes
from minipod.pictures.profile_lanes import LOOKS
from minipod.pictures.schedules import STRIPE


def bars(picture: pictures.Picture) -> list[dict[str, float]]:
    """Milliseconds by what was done, for each lane from above; the legend left out."""
    found: dict[float, Counter] = defaultdict(Counter)
    looks = {look: name for name, (_, look, _) in LOOKS.items()}
    for r in (r.attrib for r in ET.fromstring(picture.svg).iter(f"{SVG}rect")):
        middle = round(float(r["y"]) + float(r["height"]) / 2, 1)
        found[middle][looks[r["class"]]] += float(r["width"]) / profile_lanes.WIDE * 20
    return [found[middle] for middle in sorted(found)][1:]


def test_each_lane_is_as_long_as_what_its_device_did_and_its_description_has_the_milliseconds():
    for i, lane in enumerate(bars(pictures.profile(some_profile()))):
        wanted = {"compute": 1.0 + i, "waiting": 7.0 - i, "exchange": 10.0}
        assert set(lane) == {name for name, length in wanted.items() if length}
        assert all(abs(lane[name] - wanted[name]) < 0.05 for name in lane)
    assert str(pictures.profile(some_profile(devices=2))) == (
        "2 devices in 20 ms: device 0 computes for 1 ms, waits for others for 1, exchanges data for 16, and is idle "
        "for 2; device 1 computes for 2 ms, waits for others for 0, exchanges data for 16, and is idle for 2."
    )


def test_what_it_does_is_told_apart_by_height_or_tone_and_not_by_colour_alone():
    heights = {name: high for name, (_, _, high) in LOOKS.items()}
    assert heights["waiting"] < heights["noted"] < heights["compute"] == heights["exchange"]
    style = pictures.profile(some_profile()).svg
    opacity = {name: float(re.search(rf"bar-{name}{{[^}}]*fill-opacity:([.\d]+)", style)[1]) for name in
               ("compute", "exchange")}  # fmt: skip
    assert opacity["exchange"] - opacity["compute"] >= 0.39


def test_two_processes_stand_below_each_other_each_with_what_it_noted():
    said = [label for label in labels(pictures.profile(some_profile(2, 2), ["load"])) if not re.match(r"\d", label)]
    assert said[3:-1] == [
        "process 0", "load", "device 0", "device 1", "process 1", "load", "device 2048", "device 2049",
    ]  # fmt: skip


def cells(picture: pictures.Picture) -> list[list[tuple[float, float]]]:
    """(left, width) of each cell, for each lane from above; the legend and the stripes left out."""
    found: dict[float, list[tuple[float, float]]] = {}
    for r in (r.attrib for r in ET.fromstring(picture.svg).iter(f"{SVG}rect")):
        if float(r["height"]) > STRIPE:
            found.setdefault(float(r["y"]), []).append((float(r["x"]), float(r["width"])))
    return [found[y] for y in sorted(found)][1:]


def test_each_operation_is_a_cell_in_its_lane_and_at_its_ticks_which_the_description_has():
    picture = pictures.schedule(some_schedule())
    drawn = cells(picture)
    left = drawn[0][0][0]
    assert [[round((x - left) / 24) for x, _ in lane] for lane in drawn] == [[0, 1, 4, 6], [1, 2, 4, 5]]
    assert {round((wide + 1) / 24) for lane in drawn for _, wide in lane} == {1}
    assert str(picture) == (
        "2 stages in 7 ticks, idle for 42.9% of the time: stage 0 F0 F1 · · B0 · B1; stage 1 · F0 F1 · B0 B1 ·."
    )


def test_what_fills_several_ticks_is_one_cell_a_backward_has_a_stripe_and_a_second_part_is_marked():
    picture = pictures.schedule([["F0"], ["B0"], ["B0"], [None], ["B1"]])
    assert [round((wide + 1) / 24) for _, wide in cells(picture)[0]] == [1, 2, 1]
    rects = [r.attrib for r in ET.fromstring(picture.svg).iter(f"{SVG}rect")]
    assert len([r for r in rects if float(r["height"]) == STRIPE]) == 3  # of the legend, of B0 and of B1
    assert labels(pictures.schedule([["F0", None], ["F0b", "B0"]]))[-3:] == ["0b", "stage 1", "0"]


def test_a_long_table_is_no_wider_than_other_pictures_and_has_numbers_where_there_is_room():
    picture = pictures.schedule([[f"F{m}", ""] for m in range(40)])
    assert float(ET.fromstring(picture.svg).attrib["viewBox"].split()[2]) <= WIDE + 13
    assert labels(picture)[3:-1] == [str(m) for m in range(10)]
