"""Names of slices: those that there are, and a sentence for every other, before libtpu could abort on it."""

import pytest

from minipod import pods
from minipod.chips import CHIPS
from minipod.pods import absent
from minipod.pods.slices import GENERATIONS


@pytest.mark.parametrize(
    "cloud, exact",
    [
        # docs.cloud.google.com/tpu/docs/v5e and v6e: chips. v5p and v4: TensorCores, and their tables of shapes.
        ("v5litepod-1 v5e-4 v5e-8 v5litepod-16 v5e-32 v5e-64 v5e-128 v5litepod-256",
         "v5e:1x1 v5e:2x2 v5e:2x4 v5e:4x4 v5e:4x8 v5e:8x8 v5e:8x16 v5e:16x16"),
        ("v6e-8 trillium-8 v6e-256", "v6e:2x4 v6e:2x4 v6e:16x16"),
        ("v5p-8 v5p-16 v5p-64 v5p-128 v5p-256 v5p-512 v5p-1024 v5p-2048 v5p-4096 v5p-8192 v5p-12288",
         "v5p:2x2x1 v5p:2x2x2 v5p:2x4x4 v5p:4x4x4 v5p:4x4x8 v5p:4x8x8 v5p:8x8x8 v5p:8x8x16 v5p:8x16x16 v5p:16x16x16 "
         "v5p:16x16x24"),
        ("v4-8 v4-32 v4-512 v4-4096", "v4:2x2x1 v4:2x2x4 v4:4x8x8 v4:8x16x16"),
        ("tpu7x-8 ironwood-128 7x-18432", "7x:2x2x1 7x:4x4x4 7x:16x24x24"),
        ("2xv5e-16 3xtpu7x:2x2x1 1xv5e:4x4 2x7x-8", "2xv5e:4x4 3x7x:2x2x1 v5e:4x4 2x7x:2x2x1"),
    ],
)  # fmt: skip
def test_what_cloud_calls_a_slice_is_the_shape_that_it_has_for_it(cloud, exact):
    assert [str(pods.slice_of(name)) for name in cloud.split()] == exact.split()


def test_a_slice_is_of_so_many_chips_up_to_a_whole_pod_and_several_are_told_to_libtpu_beside_the_name_of_one():
    assert pods.slice_of("v4:16x16x16").chips == GENERATIONS["v4"].pod
    found = pods.slice_of("2xtpu7x:2x2x2")
    assert (found.topology, found.options, found.shape) == ("tpu7x:2x2x2", {"num_slices": 2}, (2, 2, 2))
    assert (found.chips, found.devices, found.count) == (16, 32, 2)
    assert "num_slices" not in pods.slice_of("v5e:4x4").options


def test_every_generation_is_a_chip_and_goes_to_256_chips_or_more():
    for name, generation in GENERATIONS.items():
        assert generation.chip in CHIPS
        most = max(pods.slice_of(f"{name}:{shape}").chips for shape in generation.shapes)
        assert most <= generation.pod
        assert most >= 256 or generation.platform == "cuda"
        assert generation.limit * 2**30 <= CHIPS[generation.chip].memory


@pytest.mark.parametrize(
    "name, said",
    [
        ("v5e:4x2", r"no slice of v5e has the shape 4x2 \(the same chips are 2x4\)"),
        ("v5e", "v5e needs a shape, as in v5e:1x1; choose from 1x1, 2x2"),
        ("v9:2x2", "no slice is called 'v9:2x2': write GENERATION:SHAPE"),
        ("v5e:١x1", "no slice of v5e has the shape"),
        ("v5p:8x4x4", r"has the shape 8x4x4 \(the same chips are 4x4x8\).*multiples of 4.*up to 8960 chips"),
        ("v5p:16x20x32", "no slice of v5p has the shape 16x20x32: choose from 2x2x1"),
        ("v5e-12", "no slice is called v5e-12: the number counts chips, and can be 1, 4, 8"),
        ("v5p-129", "v5p-129: the number counts TensorCores, two per chip, and can be 8, 16.* to 17920"),
        ("0xv5e:4x4", "0xv5e:4x4 cannot be planned: choose 1 to 6250 slices"),
        ("2xh100:8", "2xh100:8 cannot be planned: choose one host"),
    ],
)
def test_another_name_is_answered_in_one_sentence(name, said):
    with pytest.raises(ValueError, match=said) as caught:
        pods.slice_of(name)
    assert "\n" not in str(caught.value)


def test_devices_are_numbered_as_libtpu_does():
    """Seen in libtpu 0.0.52; test_topologies.py asks it, where it is installed."""
    for name, some in (
        ("v5e:4x4", {(1, (1, 0, 0), 0, 0, 0), (4, (0, 1, 0), 0, 0, 0), (15, (3, 3, 0), 0, 3, 0)}),
        ("7x:2x2x2", {(3, (1, 0, 0), 1, 0, 0), (15, (1, 1, 1), 1, 1, 0)}),
        ("2xv5e:4x4", {(100001, (1, 0, 0), 0, 0, 0), (200015, (3, 3, 0), 0, 7, 1)}),
    ):
        found = {(d.id, d.coords, d.core_on_chip, d.process_index, d.slice_index) for d in pods.devices(name)}
        assert found >= some and len(found) == pods.slice_of(name).devices, name


def test_the_first_axes_cross_the_slices_or_it_is_said_that_they_cannot():
    for axes, over in (
        ({"replica": 2, "data": 4, "model": 4}, [2, 1, 1]),
        ({"data": 8, "model": 4}, [2, 1]),
        ({"one": 1, "data": 2, "model": 16}, [1, 2, 1]),
    ):
        mesh = pods.mesh("2xv5e:4x4", **axes)
        assert absent.crossing(pods.slice_of("2xv5e:4x4"), axes) == over
        halves = [[d.slice_index for d in half.flat] for half in mesh.devices.reshape(2, 16)]
        assert halves == [[0] * 16, [1] * 16]
    said = "data=9, model=2 cannot be laid out on 6xv5e:1x1.*6 slices left to cover, an axis of 9 must divide 6 or"
    with pytest.raises(ValueError, match=said):
        absent.crossing(pods.slice_of("6xv5e:1x1"), {"data": 9, "model": 2})


def test_axes_must_multiply_to_the_slice():
    for axes, said in (
        ({"data": 4, "model": 4}, "v5e:2x4 has 8 devices, but the product of data=4, model=4 is 16"),
        ({}, "v5e:2x4 has 8 devices: name the axes"),
        ({"data": -2, "model": -4}, "data=-2, model=-4: each size must be at least 1"),
    ):
        with pytest.raises(ValueError, match=said):
            pods.mesh("v5e:2x4", **axes)


def test_a_host_of_gpus_has_every_layout_and_a_torus_those_of_whole_axes_the_first_of_them_over_slices():
    mesh = pods.mesh("h100:8", data=2, model=4)
    assert [d.id for d in mesh.devices.flat] == list(range(8))
    assert {(d.platform, d.process_index) for d in mesh.devices.flat} == {("gpu", 0)}
    for name, sizes in (
        ("h100:8", [(8, 1), (4, 2), (2, 4), (1, 8)]),
        ("v5e:4x4", [(16, 1), (4, 4), (1, 16)]),
        ("v4:4x4x8", [(128, 1), (32, 4), (16, 8), (8, 16), (4, 32), (1, 128)]),
        ("2xv5e:4x4", [(32, 1), (8, 4), (2, 16), (1, 32)]),
    ):
        assert pods.layouts(name, "a", "b") == [{"a": a, "b": b} for a, b in sizes]
