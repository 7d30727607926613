"""Pictures for planning: a torus as the coordinates say, plans as memory against time."""

import dataclasses
import re

import jax
import pytest
from picture_gallery import GALLERY, labels, some_plans

from minipod import pictures, pods


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


def test_devices_of_one_chip_share_a_box():
    boxes = sorted(s for s in labels(GALLERY["torus, two devices a chip"]) if s[0].isdigit())
    assert boxes == ["0 1", "2 3", "4 5", "6 7"]


def test_only_closed_lines_have_dashes_at_their_ends():
    assert "dash wire" in GALLERY["torus, deep"].svg
    assert "dash wire" not in GALLERY["torus"].svg


def test_the_colour_is_the_row_of_the_mesh():
    rows = re.findall(r'class="cell c(\d)"', pictures.torus(pods.mesh("v5e:2x4", x=2, y=4)).svg)
    assert sorted(rows) == ["0"] * 4 + ["1"] * 4


def test_what_is_no_torus_is_refused_in_a_sentence():
    with pytest.raises(ValueError, match="no coordinates"):
        pictures.torus(jax.make_mesh((8,), ("x",)))
    with pytest.raises(ValueError, match="these devices lie on 2 slices"):
        pictures.torus(pods.mesh("2xv5e:2x2", replica=2, data=4))
    with pytest.raises(ValueError, match="16x16 chips is too large to draw"):
        pictures.torus(pods.mesh("v5e:16x16", data=256))


def test_a_plan_with_more_memory_stands_further_right_and_a_longer_one_higher():
    few, much, between, full = some_plans()
    picture = pictures.plans([few, much, between, full])
    spots = [re.findall(r'd="M([\d.]+) ([\d.]+)[^"]*" class="l\d head"', picture.svg)][0][3:]
    by_time = sorted((p for p in (few, much, between)), key=lambda p: p.seconds.least)
    assert [float(y) for _, y in spots] == sorted((float(y) for _, y in spots), reverse=True)
    for (x, _), plan in zip(spots, by_time, strict=True):
        others = [float(a) for (a, _), p in zip(spots, by_time, strict=True) if p.memory["peak"] > plan.memory["peak"]]
        assert all(float(x) < other for other in others)


def test_what_does_not_fit_is_listed_and_what_bounds_is_said():
    picture = GALLERY["plans"]
    assert {"these do not fit", "v5e:4x4 16", "bound by compute", "bound by memory", "bound by network"} <= {
        *labels(picture)
    }
    assert "v5e:4x4 16, does not fit" in picture.alt


def test_plans_that_cannot_be_drawn_are_refused():
    with pytest.raises(TypeError, match="list of plans"):
        pictures.plans([1])
    with pytest.raises(ValueError, match="0 of 1 plans"):
        pictures.plans([dataclasses.replace(some_plans()[0], fits=False)])
