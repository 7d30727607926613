"""A profile as lanes: what is drawn is what was spent, told apart without colour, and said in words."""

import re
import xml.etree.ElementTree as ET

import pytest
from picture_gallery import SVG, labels, some_profile

from minipod import pictures
from minipod.pictures.lanes import LOOKS, WIDE


def bars(picture: pictures.Picture) -> list[dict[str, float]]:
    """Milliseconds by what was done, for each lane from above; the legend left out."""
    found: dict[float, dict[str, float]] = {}
    looks = {look: name for name, (_, look, _) in LOOKS.items()}
    for r in (r.attrib for r in ET.fromstring(picture.svg).iter(f"{SVG}rect")):
        middle = round(float(r["y"]) + float(r["height"]) / 2, 1)
        lane = found.setdefault(middle, {})
        name = looks[r["class"]]
        lane[name] = lane.get(name, 0.0) + float(r["width"]) / WIDE * 20
    return [found[middle] for middle in sorted(found)][1:]


def test_each_lane_is_as_long_as_what_its_device_did():
    for i, lane in enumerate(bars(pictures.profile(some_profile()))):
        wanted = {"compute": 1.0 + i, "waiting": 7.0 - i, "exchange": 10.0}
        assert set(lane) == {name for name, length in wanted.items() if length}
        assert all(abs(lane[name] - wanted[name]) < 0.05 for name in lane)


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


def test_its_description_has_the_milliseconds_of_each_device():
    assert str(pictures.profile(some_profile(devices=2))) == (
        "2 devices in 20 ms: device 0 computes for 1 ms, waits for others for 1, exchanges for 16, and does nothing "
        "for 2; device 1 computes for 2 ms, waits for others for 0, exchanges for 16, and does nothing for 2."
    )


def test_what_cannot_be_drawn_is_told():
    with pytest.raises(TypeError, match="^expected a profile, such as minipod.profiles.read returns$"):
        pictures.profile([1, 2])
    with pytest.raises(ValueError, match="^17 devices cannot be drawn: 1 to 16 can$"):
        pictures.profile(some_profile(devices=17))
