"""Mesh axes on torus axes: what there is, in which order, and how long collectives take there, worked out by hand."""

import numpy as np
import pytest
from jax.sharding import Mesh

from minipod import pods, torus, traffic
from minipod.hlo.collectives import Collective
from minipod.pods import rows

SIZE = 2**28


def on(mesh, op, *axes):
    return Collective(op, rows(dict(mesh.shape), axes), SIZE, axes=axes)


@pytest.mark.parametrize(
    "name, axes",
    [
        ("v5e:2x4", {"data": 8}),
        ("v5e:4x4", {"data": 4, "model": 4}),
        ("v5e:4x4", {"data": 16, "model": 1}),
        ("v4:4x4x8", {"data": 32, "model": 4}),
        ("v4:8x8x8", {"a": 8, "b": 8, "c": 8}),
    ],
)
def test_neighbours_on_a_mesh_axis_are_neighbours_on_the_torus(name, axes):
    grid = pods.mesh(name, **axes).devices
    assert sorted(d.id for d in grid.flat) == list(range(grid.size))
    coords = np.array([d.coords for d in grid.flat]).reshape(*grid.shape, 3)
    for axis in range(grid.ndim):
        assert (np.abs(np.diff(coords, axis=axis)).sum(axis=-1) == 1).all()


def test_eight_chips_of_v5e_are_a_ring():
    coords = np.array([d.coords for d in pods.mesh("v5e:2x4", data=8).devices])
    assert (np.abs(coords - np.roll(coords, 1, axis=0)).sum(axis=1) == 1).all()


def test_an_axis_that_takes_part_of_a_torus_axis_is_laid_with_gaps_along_the_other():
    """JAX gives the last axis what is whole and near: model has x and every pair in y, data steps over the pairs."""
    grid = pods.mesh("v5e:4x4", data=2, model=8).devices
    assert [d.coords[1] for d in grid[:, 0]] == [0, 2]
    assert torus.box([d.coords for d in grid[0]], (4, 4)) == (4, 2)
    assert torus.layout((4, 4), 1, (2, 8)) is None


def test_the_layouts_of_a_torus_are_those_of_whole_axes():
    assert pods.layouts("v5e:4x4", "data", "model") == [
        {"data": 16, "model": 1},
        {"data": 4, "model": 4},
        {"data": 1, "model": 16},
    ]
    assert len(pods.layouts("v4:4x4x8", "a", "b")) == 6  # 128, 32, 16, 8, 4, 1 along a


@pytest.mark.parametrize(
    "name, axes, along, into",
    [
        ("v5e:4x4", {"data": 4, "model": 4}, ("data",), 1),  # a line: its end has one neighbour
        ("v5e:16x16", {"data": 16, "model": 16}, ("data",), 2),  # a ring
        ("v5e:8x16", {"data": 8, "model": 16}, ("model",), 2),  # only the longer axis closes
        ("v5e:8x16", {"data": 8, "model": 16}, ("data",), 1),
        ("v5e:2x4", {"data": 8}, ("data",), 2),  # a corner of the board: one link along x, one along y
        ("v5e:16x16", {"data": 256}, ("data",), 4),
        ("v4:4x4x4", {"data": 16, "model": 4}, ("data",), 4),  # two rings at once
        ("v4:2x2x4", {"data": 4, "model": 4}, ("model",), 1),  # rings come with whole cubes only
        ("v4:2x2x2", {"data": 8}, ("data",), 3),
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
    with pytest.raises(ValueError, match="the groups of this all-reduce over b are no boxes of the torus 2x4"):
        traffic.seconds([on(crossed, "all-reduce", "b")], "TPU v5e", crossed)


def test_a_permute_goes_where_the_chips_are():
    mesh = pods.mesh("v5e:4x4", data=4, model=4)
    shift = Collective("collective-permute", tuple((i, (i + 4) % 16) for i in range(16)), SIZE, axes=("data",))
    # On a line of four, 3 → 0 comes back over all three links, against the others.
    assert traffic.seconds([shift], "TPU v5e", mesh) == pytest.approx(SIZE / 4.5e10)
    snake = pods.mesh("v5e:4x4", data=16)
    ahead = Collective("collective-permute", tuple((i, i + 1) for i in range(15)), SIZE, axes=("data",))
    assert traffic.seconds([ahead], "TPU v5e", snake) == pytest.approx(SIZE / 4.5e10)


def test_devices_that_share_a_chip_have_no_time():
    mesh = pods.mesh("7x:2x2x1", data=8)
    with pytest.raises(ValueError, match="devices that share a chip share its links, too: the time of this all-gather"):
        traffic.seconds([on(mesh, "all-gather", "data")], "TPU7x", mesh)


def test_a_box_is_full_or_none():
    assert torus.box([(0, 0), (0, 1), (1, 0), (1, 1)], (4, 4)) == (2, 2)
    assert torus.box([(0, 0), (2, 0)], (4, 4)) is None
    assert torus.box([(0, 0, 0), (0, 0, 0), (1, 0, 0), (1, 0, 0)], (2, 2, 1)) == (2, 1, 1)  # two devices a chip
