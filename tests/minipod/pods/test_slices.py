"""Names of slices: those that there are, and a sentence for every other, before libtpu could abort on it."""

import pytest

from minipod import pods
from minipod.chips import CHIPS
from minipod.pods.slices import GENERATIONS


@pytest.mark.parametrize(
    "name, shape, chips, devices",
    [("v5e:4x4", (4, 4), 16, 16), ("v4:8x8x8", (8, 8, 8), 512, 512), ("tpu7x:2x2x1", (2, 2, 1), 4, 8)],
)
def test_a_slice_has_a_shape_chips_and_devices(name, shape, chips, devices):
    found = pods.slice_of(name)
    assert (found.shape, found.chips, found.devices) == (shape, chips, devices)


def test_every_generation_is_a_chip_and_goes_to_256_chips_or_more():
    for name, generation in GENERATIONS.items():
        assert generation.chip in CHIPS
        most = max(pods.slice_of(f"{name}:{shape}").chips for shape in generation.shapes)
        assert most >= 256 or generation.platform == "cuda"
        assert generation.limit * 2**30 <= CHIPS[generation.chip].memory


@pytest.mark.parametrize(
    "name, said",
    [
        ("v5e:32x32", "no slice of v5e is 32x32: 1x1, 2x2, 2x4"),
        ("v5e:4x2", r"no slice of v5e is 4x2 \(the same chips are 2x4\)"),
        ("v5e", "no slice of v5e is without a shape"),
        ("v9:2x2", "no slice is called 'v9:2x2': a name is a generation"),
        ("", "no slice is called ''"),
        ("v5e:١x1", "no slice of v5e is"),
    ],
)
def test_another_name_is_answered_in_one_sentence(name, said):
    with pytest.raises(ValueError, match=said) as caught:
        pods.slice_of(name)
    assert "\n" not in str(caught.value)


def test_devices_are_numbered_as_libtpu_does():
    """Seen in libtpu 0.0.52: (id, coords, process) of v5e:4x4, and the cores of 7x."""
    seen = [
        (0, (0, 0, 0), 0),
        (1, (1, 0, 0), 0),
        (4, (0, 1, 0), 0),
        (2, (2, 0, 0), 1),
        (8, (0, 2, 0), 2),
        (15, (3, 3, 0), 3),
    ]
    found = {(d.id, d.coords, d.process_index) for d in pods.devices("v5e:4x4")}
    assert found >= {*seen} and len(found) == 16
    ends = [(d.id, d.coords, d.core_on_chip, d.process_index) for d in pods.devices("7x:2x2x2")]
    assert ends[3] == (3, (1, 0, 0), 1, 0) and ends[-1] == (15, (1, 1, 1), 1, 1)


@pytest.mark.parametrize(
    "axes, said",
    [
        ({"data": 7}, "v5e:2x4 has 8 devices, and the axes data=7 multiply to 7"),
        ({"data": 4, "model": 4}, "v5e:2x4 has 8 devices, and the axes data=4, model=4 multiply to 4 × 4"),
        ({}, r"v5e:2x4 has 8 devices, and the axes \(none\) multiply to no axes"),
        ({"data": -2, "model": -4}, "v5e:2x4 has 8 devices"),
    ],
)
def test_axes_must_multiply_to_the_slice(axes, said):
    with pytest.raises(ValueError, match=said):
        pods.mesh("v5e:2x4", **axes)


def test_a_host_of_gpus_has_every_layout():
    mesh = pods.mesh("h100:8", data=2, model=4)
    assert [d.id for d in mesh.devices.flat] == list(range(8))
    assert {d.platform for d in mesh.devices.flat} == {"gpu"} and {d.process_index for d in mesh.devices.flat} == {0}
    assert {(*axes.values(),) for axes in pods.layouts("h100:8", "a", "b")} == {(8, 1), (4, 2), (2, 4), (1, 8)}
    with pytest.raises(ValueError, match="no slice of h100 is 16: 1, 2, 4, 8"):
        pods.mesh("h100:16", data=16)
