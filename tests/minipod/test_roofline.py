"""Chips, links and what bounds a program, against figures worked out by hand."""

import pytest

from minipod import chips, roofline
from minipod.chips import CHIPS, chip
from minipod.hlo.collectives import Collective
from minipod.traffic import LINKS, seconds


def test_every_chip_has_a_source_a_link_and_figures_also_those_that_readers_in_china_have():
    for name, found in CHIPS.items():
        assert found.source and found.flops and found.carrier is LINKS[found.link], name
        assert 1e13 < max(found.flops.values()) < 1e16 and 1e10 < found.memory < 1e12, name
    text = str(chips.table())
    assert len(text.splitlines()) == len(CHIPS) + 1 and "Ascend 910B" in text
    assert {"A800", "H800", "H20"} <= {*CHIPS} and "RoCE, 400 Gbit" in LINKS
    for cut, whole in (("A800", "A100"), ("H800", "H100")):
        assert chip(cut).flops == chip(whole).flops
        assert chip(cut).carrier.bytes_per_second == 2e11 < chip(whole).carrier.bytes_per_second
    v5e = chip("TPU v5e")  # multiplies float32 in one, three or six passes
    assert v5e.peak("f32") == v5e.peak("bf16") == 6 * v5e.peak("f32×6") == 1.97e14


def test_what_has_no_figure_is_answered_in_one_sentence():
    with pytest.raises(ValueError, match="minipod has no peak FLOP/s for f8e4m3fn on A100, only for bf16, s8$"):
        chip("A100").peak("f8e4m3fn")
    with pytest.raises(ValueError, match="minipod has no peak FLOP/s for f32 on H100"):
        roofline.compute_seconds({"f32": 1e12}, chip("H100"))
    with pytest.raises(ValueError, match="minipod has no figure for the speed of Ascend 910B's memory"):
        roofline.memory_seconds(1e9, chip("Ascend 910B"))
    with pytest.raises(ValueError, match="no chip is called 'TPU v9': choose one of TPU v4, "):
        chip("TPU v9")


def test_a_roofline_says_which_is_longest_and_their_sum():
    found = roofline.Seconds(compute=0.3, memory=0.2, network=0.5)
    assert (found.bound, found.least, found.most) == ("network", 0.5, pytest.approx(1.0))
    assert roofline.Seconds(0.3, None, None).bound is None  # the others could be longer
    assert roofline.Seconds(0.3, 0.1, 0.2, (), {"network": 0.29}).bound == "compute"
    assert roofline.Seconds(0.3, 0.1, 0.2, (), {"network": 0.31}).bound is None
    assert roofline.Seconds(0.3, 0.1, 0.2, (), {"compute": 7.0}).bound == "compute"  # more of it turns nothing
    assert roofline.Seconds(None, None, None).bound is None


def test_from_which_batch_on_arithmetic_is_the_bound():
    """The Scaling Book, part 1: 1.97e14 / 8.2e11, a batch of 240 tokens on a v5e."""
    v5e = chip("TPU v5e")
    weights = 2e9  # bytes in bfloat16, each of which meets every row of the batch: two FLOPs for two bytes
    arithmetic = roofline.compute_seconds({"bf16": weights}, v5e)
    assert roofline.memory_seconds(weights, v5e) / arithmetic == pytest.approx(240, rel=0.01)
    assert roofline.Seconds(compute=0.05, memory=0.1, network=0.2).batches == pytest.approx(4)
    assert roofline.Seconds(compute=0.3, memory=0.1, network=0.2).batches == 1
    assert roofline.Seconds(compute=0.3, memory=None, network=0.2).batches is None


def test_nvlink_takes_microseconds_for_a_few_bytes():
    few = Collective("all-reduce", (tuple(range(8)),), 256)
    took = {name: seconds([few], name) for name in ("NVLink 4 (H100)", "InfiniBand NDR", "TPU v4", "1 Gbit Ethernet")}
    assert took["NVLink 4 (H100)"] == pytest.approx(6.6e-6 + 14 * 0.6e-6)  # NCCL: a start, and 2 (n-1) hops in a ring
    assert took["TPU v4"] == pytest.approx(8e-6)
    assert took["1 Gbit Ethernet"] > took["InfiniBand NDR"] > took["TPU v4"]


def test_types_without_a_figure_count_as_what_the_chip_makes_of_them():
    v5e = chip("TPU v5e")
    assert roofline.compute_seconds_at_least({"kernel": 1.97e14, "f8e4m3fn": 1.97e14, "s4": 3.93e14}, v5e) == (3, 3, ())
    assert roofline.compute_seconds_at_least({"f8e4m3fn": 2e15}, chip("H100"))[0] == 1
    known, most, why = roofline.compute_seconds_at_least({"bf16": 1.97e14, "s32": 1.97e10}, v5e)
    assert known == 1 and most == pytest.approx(1.01)
    assert why == ("compute does not include FLOPs of types without a known peak on TPU v5e: 1.97e+10 of s32",)
