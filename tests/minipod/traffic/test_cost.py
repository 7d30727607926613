"""The cost model against times worked out by hand: 1,000 bytes a second, so that 1 byte takes 1 ms."""

from dataclasses import replace

import pytest
from jax.sharding import AbstractMesh

from minipod import traffic
from minipod.hlo.collectives import Collective
from minipod.traffic import time_model
from minipod.traffic.interconnects import Link

TORUS = Link("torus", 1000, "torus", "test", latency=0.0)
LINE = replace(TORUS, closes=1000)
RING = replace(TORUS, shape="ring")
SWITCH = replace(TORUS, shape="switch")
SLOW = 1.0  # seconds a hop


def collective(op, size, count, axes=None):
    return Collective(op, (tuple(range(count)),), size, axes=axes)


@pytest.mark.parametrize(
    "op, on, expected, hops",
    [
        # 8 devices, 800 bytes: each device lacks 700 of what is gathered.
        ("all-gather", TORUS, 0.35, 4),  # 350 from either side; the opposite device is 4 hops away
        ("all-gather", LINE, 0.7, 7),  # the last device has one neighbour
        ("all-gather", RING, 0.7, 7),
        ("all-gather", SWITCH, 0.7, 1),
        ("reduce-scatter", TORUS, 0.35, 4),
        ("all-reduce", TORUS, 0.7, 8),
        ("all-reduce", RING, 1.4, 14),
        # 8 pieces of 100 bytes a device.
        ("all-to-all", TORUS, 0.8, 4),  # 4 + 3 + 2 + 1 right and 3 + 2 + 1 left, evened out: 8 pieces
        ("all-to-all", LINE, 1.6, 7),  # 4 × 4 pieces cross the middle
        ("all-to-all", RING, 2.8, 7),  # 7 + 6 + … + 1 = 28 pieces
        ("ragged-all-to-all", SWITCH, 0.7, 1),
        ("collective-broadcast", TORUS, 0.4, 4),
        ("collective-broadcast", SWITCH, 0.8, 1),
    ],
)
def test_bytes_over_the_links_that_a_device_has_and_few_bytes_cost_their_hops(op, on, expected, hops):
    assert time_model.seconds(collective(op, 800, 8), on) == pytest.approx(expected)
    assert time_model.seconds(collective(op, 8, 8), replace(on, latency=SLOW)) == pytest.approx(hops * SLOW)


def test_several_axes_of_a_torus_work_at_once():
    gather = collective("all-gather", 1600, 16, axes=("x", "y"))
    mesh = {"x": 4, "y": 4}
    assert time_model.seconds(gather, TORUS, mesh) == pytest.approx(1.5 / 4)  # 1,500 bytes over four links
    assert time_model.seconds(gather, LINE, mesh) == pytest.approx(1.5 / 2)  # the corner has two
    assert time_model.seconds(gather, TORUS) == pytest.approx(1.5 / 2)  # no mesh: one ring of 16
    assert time_model.seconds(gather, SWITCH, mesh) == pytest.approx(1.5)
    assert time_model.seconds(gather, replace(LINE, latency=SLOW), mesh) == pytest.approx(6 * SLOW)
    exchange = collective("all-to-all", 1600, 16, axes=("x", "y"))
    assert time_model.seconds(exchange, TORUS, mesh) == pytest.approx(2 / 4 * 1.6)  # all along x, and then along y


def test_an_axis_closes_where_its_size_is_a_multiple_and_all_do_or_none():
    """On a v4 of 2 x 2 x 4 the axis of four is a line: no whole cube of 4 x 4 x 4, no optical switch."""
    cubes = replace(TORUS, closes=4)
    sizes = {n: time_model.seconds(collective("all-gather", 1000 * n, n), cubes) for n in (2, 4, 6, 8)}
    assert sizes == pytest.approx({2: 1, 4: 1.5, 6: 5, 8: 3.5})
    assert time_model.seconds(collective("all-gather", 2000, 2), TORUS) == 1.0  # of two devices, one link
    four = collective("all-gather", 4000, 4, axes=("z",))
    assert time_model.seconds(four, cubes, {"x": 2, "y": 2, "z": 4}) == pytest.approx(3)
    assert time_model.seconds(four, cubes, {"x": 4, "y": 8, "z": 4}) == pytest.approx(1.5)


def permute(*pairs):
    return Collective("collective-permute", pairs, 1000, axes=("x",))


EVERYBODY_BY = {d: permute(*((i, (i + d) % 8) for i in range(8))) for d in range(1, 8)}


@pytest.mark.parametrize(
    "c, on, mesh, carried, hops",
    [
        (EVERYBODY_BY[1], TORUS, {"x": 8}, 1, 1),
        (EVERYBODY_BY[7], TORUS, {"x": 8}, 1, 1),  # the other way round
        (EVERYBODY_BY[7], RING, {"x": 8}, 7, 7),
        (EVERYBODY_BY[3], TORUS, {"x": 8}, 3, 3),  # three arrays on every link
        (EVERYBODY_BY[1], LINE, {"x": 8}, 1, 7),  # 7 → 0 comes back over all the links, against nobody
        (EVERYBODY_BY[3], SWITCH, {"x": 8}, 1, 1),
        (EVERYBODY_BY[3], TORUS, None, 1, 1),
        (permute((0, 3)), TORUS, {"x": 8}, 1, 3),  # alone on its way
        (permute((0, 15)), LINE, {"x": 4, "y": 4}, 0.5, 6),  # half along x first, half along y first
        (permute((0, 15)), TORUS, {"x": 4, "y": 4}, 0.5, 2),
    ],
)
def test_a_permute_is_routed_the_shorter_way_and_the_busiest_link_counts(c, on, mesh, carried, hops):
    assert time_model.seconds(c, on, mesh) == pytest.approx(carried)
    assert time_model.seconds(replace(c, bytes=1), replace(on, latency=SLOW), mesh) == pytest.approx(hops * SLOW)


def test_another_mesh_interconnect_or_link_is_refused():
    for other in (AbstractMesh((8,), ("z",)), AbstractMesh((4,), ("x",))):
        with pytest.raises(ValueError, match="these collectives do not run on the mesh"):
            traffic.seconds([collective("all-gather", 800, 8, axes=("x",))], TORUS, other)
    with pytest.raises(ValueError, match="no interconnect is called 'TPU v9': choose one of TPU v4; TPU v5e"):
        traffic.seconds([], "TPU v9")
    for wrong in ({"bytes_per_second": 0}, {"latency": -1e-6}, {"closes": 0}, {"shape": "tree"}):
        with pytest.raises(ValueError, match="the link 'torus'"):
            replace(TORUS, **wrong)


def test_times_multiply_and_of_branches_the_slowest_counts():
    gather = collective("all-gather", 800, 8)
    either = [replace(gather, branch=((0, n),), times=n + 1) for n in (0, 1)]
    assert traffic.seconds([gather, *either], SWITCH) == pytest.approx(0.7 + 1.4)
    assert traffic.seconds([], SWITCH) == 0
