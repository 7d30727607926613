"""A schedule as lanes: what is drawn is what the table says, told apart without colour, and said in words."""

import xml.etree.ElementTree as ET

import pytest
from picture_gallery import SVG, labels, some_schedule

from minipod import pictures
from minipod.drawing.grids import WIDE
from minipod.pictures.schedules import STRIPE


def cells(picture: pictures.Picture) -> list[list[tuple[float, float]]]:
    """(left, width) of each cell, for each lane from above; the legend and the stripes left out."""
    found: dict[float, list[tuple[float, float]]] = {}
    for r in (r.attrib for r in ET.fromstring(picture.svg).iter(f"{SVG}rect")):
        if float(r["height"]) > STRIPE:
            found.setdefault(float(r["y"]), []).append((float(r["x"]), float(r["width"])))
    return [found[y] for y in sorted(found)][1:]


def test_each_operation_is_a_cell_in_its_lane_and_at_its_ticks():
    lanes = cells(pictures.schedule(some_schedule()))
    tick = 24.0
    left = lanes[0][0][0]
    assert [[round((x - left) / tick) for x, _ in lane] for lane in lanes] == [[0, 1, 4, 6], [1, 2, 4, 5]]
    assert [[round((wide + 1) / tick) for _, wide in lane] for lane in lanes] == [[1, 1, 1, 1], [1, 1, 1, 1]]


def test_what_fills_several_ticks_is_one_cell():
    (lane,) = cells(pictures.schedule([["F0"], ["B0"], ["B0"], [None], ["B1"]]))
    assert [round((wide + 1) / 24) for _, wide in lane] == [1, 2, 1]


def test_a_backward_has_a_stripe_and_so_is_told_apart_without_colour():
    rects = [r.attrib for r in ET.fromstring(pictures.schedule([["F0"], ["B0"]]).svg).iter(f"{SVG}rect")]
    assert len([r for r in rects if float(r["height"]) == STRIPE]) == 2  # of the legend, and of B0


def test_the_second_part_of_a_stage_is_marked():
    assert labels(pictures.schedule([["F0", None], ["F0b", "B0"]]))[-3:] == ["0b", "stage 1", "0"]


def test_a_long_table_is_no_wider_than_other_pictures_and_has_numbers_where_there_is_room():
    picture = pictures.schedule([[f"F{m}", ""] for m in range(40)])
    assert float(ET.fromstring(picture.svg).attrib["viewBox"].split()[2]) <= WIDE + 13
    assert labels(picture)[3:-1] == [str(m) for m in range(10)]


def test_its_description_has_every_tick_of_each_stage():
    assert str(pictures.schedule(some_schedule())) == (
        "2 stages in 7 ticks, idle for 42.9% of the time: stage 0 F0 F1 · · B0 · B1; stage 1 · F0 F1 · B0 B1 ·."
    )


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([], "expected a table: a row for each tick, and in it a label for each stage"),
        (["F0", "B0"], "expected a table: a row for each tick, and in it a label for each stage"),
        ([["F0", ""], ["B0"]], "expected a table: a row for each tick, and in it a label for each stage"),
        ([["G0"]], '\'G0\' is no label of a table: "F3", "B3" or "F3b" are expected, and "" for nothing'),
        ([["F0"] * 17], "17 stages and 1 ticks cannot be drawn: up to 16 and 64 can"),
    ],
)
def test_what_cannot_be_drawn_is_told(rows: list[list[str]], says: str):
    with pytest.raises(ValueError) as error:
        pictures.schedule(rows)
    assert str(error.value) == says
