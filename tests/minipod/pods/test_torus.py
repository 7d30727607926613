"""Mesh axes on torus axes: what there is, in which order, and how long collectives take there, worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest
from jax.sharding import Mesh

from minipod import pods, traffic
from minipod.hlo.ops import Collective
from minipod.pods import rows

SIZE = 2**28


def on(mesh, op, *axes):
    return Collective(op, rows(dict(mesh.shape), axes), SIZE, axes=axes)


def test_neighbours_on_a_mesh_axis_are_neighbours_on_the_torus():
    for name, axes in (
        ("v5e:2x4", {"data": 8}),
        ("v5e:4x4", {"data": 16, "model": 1}),
        ("v4:4x4x8", {"data": 32, "model": 4}),
        ("v4:8x8x8", {"a": 8, "b": 8, "c": 8}),
    ):
        grid = pods.mesh(name, **axes).devices
        assert sorted(d.id for d in grid.flat) == list(range(grid.size))
        coords = np.array([d.coords for d in grid.flat]).reshape(*grid.shape, 3)
        steps = [np.abs(np.diff(coords, axis=axis)).sum(axis=-1) for axis in range(grid.ndim)]
        assert all((step == 1).all() for step in steps), name


@pytest.mark.parametrize(
    "name, axes, along, into",
    [
        ("v5e:4x4", {"data": 4, "model": 4}, ("data",), 1),  # a line: its end has one neighbour
        ("v5e:16x16", {"data": 16, "model": 16}, ("data",), 2),  # a ring
        ("v5e:8x16", {"data": 8, "model": 16}, ("model",), 2),  # only the longer axis closes
        ("v5e:2x4", {"data": 8}, ("data",), 2),  # a corner of the board: one link along x, one along y
        ("v4:4x4x4", {"data": 16, "model": 4}, ("data",), 4),  # two rings at once
        ("v4:2x2x4", {"data": 4, "model": 4}, ("model",), 1),  # rings come with whole cubes only
    ],
)
def test_an_all_gather_arrives_over_the_links_that_its_part_of_the_torus_has(name, axes, along, into):
    mesh = pods.mesh(name, **axes)
    c = on(mesh, "all-gather", *along)
    n = len(c.groups[0])
    link = traffic.LINKS["TPU v5e" if name.startswith("v5e") else "TPU v4"]
    expected = SIZE * (n - 1) / n / (into * link.bytes_per_second)
    assert traffic.seconds([c], link, mesh) == pytest.approx(expected)


def test_a_torus_is_not_what_the_mesh_says_it_is():
    """Eight v5e are 2 × 4. As a mesh of three axes, they got a third of the time that a 2-D torus can have."""
    mesh = pods.mesh("v5e:2x4", data=8)
    took = traffic.seconds([on(mesh, "all-reduce", "data")], "TPU v5e", mesh)
    assert took == pytest.approx(2 * 7 / 8 * SIZE / 9e10)
    apart = np.array(pods.devices("v5e:2x4"))[[0, 7, 1, 6, 2, 5, 3, 4]].reshape(4, 2)
    crossed = Mesh(apart, ("a", "b"))
    with pytest.raises(ValueError, match="the groups of this all-reduce over b are not boxes of the torus 2x4"):
        traffic.seconds([on(crossed, "all-reduce", "b")], "TPU v5e", crossed)
    # Chips 0 and 7 are corners of the board, two links each; a ring sends the whole array once for two devices.
    least = traffic.at_least([on(crossed, "all-reduce", "b")], "TPU v5e", crossed)
    assert least.seconds == least.bounded == pytest.approx(SIZE / (2 * 4.5e10))
    assert len(least.notes) == 1 and "over b are not boxes of the torus 2x4" in least.notes[0]


def test_a_permute_goes_where_the_chips_are():
    mesh = pods.mesh("v5e:4x4", data=4, model=4)
    shift = Collective("collective-permute", tuple((i, (i + 4) % 16) for i in range(16)), SIZE, axes=("data",))
    # On a line of four, 3 → 0 comes back over all three links, against the others.
    assert traffic.seconds([shift], "TPU v5e", mesh) == pytest.approx(SIZE / 4.5e10)
    snake = pods.mesh("v5e:4x4", data=16)
    ahead = Collective("collective-permute", tuple((i, i + 1) for i in range(15)), SIZE, axes=("data",))
    assert traffic.seconds([ahead], "TPU v5e", snake) == pytest.approx(SIZE / 4.5e10)


def test_what_is_known_is_summed_and_what_is_only_bounded_is_told_apart():
    """On 4 × 4, model=8 fills boxes of 4 × 2; data=2 steps over a chip."""
    mesh = pods.mesh("v5e:4x4", data=2, model=8)
    known, gaps = on(mesh, "all-gather", "model"), on(mesh, "all-reduce", "data")
    sure = traffic.seconds([known], "TPU v5e", mesh)
    assert sure == pytest.approx(SIZE * 7 / 8 / (2 * 4.5e10))
    with pytest.raises(ValueError, match="this all-reduce over data are not boxes of the torus 4x4: its time is not"):
        traffic.seconds([known, gaps], "TPU v5e", mesh)
    found = traffic.at_least([known, replace(gaps, times=3)], "TPU v5e", mesh)
    assert found.seconds == pytest.approx(sure + 3 * SIZE / (2 * 4.5e10))  # a corner has two links
    assert found.bounded == pytest.approx(3 * SIZE / (2 * 4.5e10))
    assert traffic.at_least([known], "TPU v5e", mesh) == traffic.AtLeast(sure)
    looped = traffic.at_least([replace(known, times=None)], "TPU v5e", mesh)  # counts once
    assert looped.seconds == looped.bounded == sure and "runs an unknown number of times" in looped.notes[0]
    split = Collective("all-gather", ((0, 2), (1, 3), (4, 6), (5, 7)), SIZE)
    note = traffic.at_least([split], "TPU v5e", pods.mesh("v5e:2x4", data=2, model=4)).notes[0]
    assert note.startswith("the groups of this all-gather over part of model are not boxes of the torus 2x4")


def test_devices_that_share_a_chip_have_no_time_but_a_bound_by_its_links():
    """Four chips, two links each: three quarters of what is gathered come from the others."""
    mesh = pods.mesh("7x:2x2x1", data=8)
    with pytest.raises(ValueError, match="this all-gather share a chip and its links: its time is not known"):
        traffic.seconds([on(mesh, "all-gather", "data")], "TPU7x", mesh)
    least = traffic.at_least([on(mesh, "all-gather", "data")], "TPU7x", mesh)
    assert least.seconds == pytest.approx(SIZE * 3 / 4 / (2 * 1e11))
    exchanged = traffic.at_least([on(mesh, "all-to-all", "data")], "TPU7x", mesh)
    assert exchanged.seconds == pytest.approx(2 * SIZE * 3 / 4 / (2 * 1e11))  # for both devices of a chip
