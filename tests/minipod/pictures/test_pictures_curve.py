"""Curves lie where their values are, on round axes; what cannot be drawn is one sentence."""

import itertools
import math
import xml.etree.ElementTree as ET

import jax.numpy as jnp
import numpy as np
import pytest
from picture_gallery import LOSS, SVG, curves, labels

from minipod import pictures
from minipod.drawing.axes import axis


def number(text: str) -> float:
    """The value that a tick says: `1,000`, `−0.5`, `2×10⁻⁷`, `10⁶`."""
    plain = text.replace(",", "").replace("−", "-").translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
    if "10" in plain and text[-1] in "⁰¹²³⁴⁵⁶⁷⁸⁹":
        factor, _, power = plain.rpartition("10")
        return float(factor.rstrip("×") or 1) * 10.0 ** float(power)
    return float(plain)


def scales(picture: pictures.Picture) -> tuple[dict[float, float], dict[float, float]]:
    """What the ticks say: value → x, value → y."""
    across, up = {}, {}
    for text in ET.fromstring(picture.svg).iter(f"{SVG}text"):
        if text.attrib.get("class") == "code soft":
            middle = text.attrib["text-anchor"] == "middle"
            place = float(text.attrib["x"]) if middle else float(text.attrib["y"]) - 12 * 0.35
            (across if middle else up)[number(text.text or "")] = place
    return across, up


def read_off(ticks: dict[float, float], place: float, log: bool) -> float:
    """The value at `place`, by a ruler laid through the first and the last tick."""
    (a, pa), (b, pb) = min(ticks.items()), max(ticks.items())
    if log:
        return 10 ** (math.log10(a) + (place - pa) / (pb - pa) * (math.log10(b) - math.log10(a)))
    return a + (place - pa) / (pb - pa) * (b - a)


@pytest.mark.parametrize(("logx", "logy"), [(False, False), (True, False), (False, True), (True, True)])
def test_a_ruler_on_the_ticks_reads_the_values_off_again(logx, logy):
    x, y = np.geomspace(16, 2**27, 24), np.geomspace(2e-5, 0.3, 24)
    picture = pictures.curve({"one device": y, "data parallel": y[::-1]}, x, "bytes", "seconds", logx, logy)
    across, up = scales(picture)
    assert len(across) >= 2 and len(up) >= 2
    for points, ys in zip(curves(picture), (y, y[::-1]), strict=True):
        for (px, py), a, b in zip(points, x, ys, strict=True):
            assert read_off(across, px, logx) == pytest.approx(a, rel=0.01 if logx else 1e-9, abs=0 if logx else 1e5)
            assert read_off(up, py, logy) == pytest.approx(b, rel=0.01 if logy else 1e-9, abs=0 if logy else 2e-4)


RANGES = [(0.8, 3.2), (0, 1), (-125, 250), (1e-7, 5e-7), (1e12, 5e12), (2.0, 2.0), (0.0, 0.0), (-3e-9, 4), (99, 101)]
LOGARITHMIC = [(1e-5, 0.1), (16, 2**27), (1, 1000), (0.9, 5), (3, 3), (1e-300, 1e300)]


def test_ticks_are_round_evenly_spaced_and_say_their_value():
    for ends, tight in itertools.product(RANGES, (False, True)):
        found = axis(ends, False, 5, tight)
        values = [value for value, _ in found.ticks]
        steps = np.diff(values)
        assert 2 <= len(values) <= 8 and np.allclose(steps, steps[0], rtol=1e-6, atol=0), ends
        assert f"{steps[0]:.0e}"[0] in "125" and f"{steps[0]:.3e}"[1:5] == ".000", ends
        assert len({said for _, said in found.ticks}) == len(values), ends
        assert all(number(said) == pytest.approx(value, abs=steps[0] * 1e-6) for value, said in found.ticks), ends
        if ends[0] < ends[1]:
            assert found.at(ends[0]) >= -1e-9 and found.at(ends[1]) <= 1 + 1e-9, ends
    for ends in LOGARITHMIC:
        found = axis(ends, True, 5)
        assert 1 <= len(found.ticks) <= 8 and all(-1e-9 <= found.at(v) <= 1 + 1e-9 for v, _ in found.ticks), ends
        assert all(number(said) == pytest.approx(value) for value, said in found.ticks), ends


def test_steps_are_whole_numbers_and_names_too_long_to_stand_beside_stand_above():
    said = labels(pictures.curve({"one device": [3, 2, 1]}))
    assert {"0", "1", "2"} <= set(said) and "0.5" not in labels(pictures.curve({"one device": [3.0, 2.0]}))
    long = {f"a curve with a long name, number {i}": LOSS * i for i in range(1, 4)}
    picture = pictures.curve(long)
    assert set(long) <= set(labels(picture)) and float(picture.svg.split('viewBox="')[1].split()[2]) < 420


def test_curves_that_agree_can_be_told_apart():
    picture = pictures.curve({"one device": LOSS, "FSDP": LOSS + 1e-7, "tensor parallel": LOSS - 1e-7})
    root = ET.fromstring(picture.svg)
    names = {t.text: float(t.attrib["y"]) for t in root.iter(f"{SVG}text") if not t.attrib.get("class")}
    assert set(names) == {"one device", "FSDP", "tensor parallel"}
    heights = sorted(names.values())
    assert min(np.diff(heights)) >= 15
    looks = [p.attrib["class"] for p in root.iter(f"{SVG}path") if "stroke-linejoin" in p.attrib]
    assert looks == ["wire l0", "wire l1 d1", "wire l2 d2"]
    marks = [p.attrib["d"].split("a")[0].split("h")[0].split("l")[0] for p in root.iter(f"{SVG}path")
             if p.attrib["class"].endswith("head")]  # fmt: skip
    assert len(marks) == 15 == len(set(marks))  # five each, nowhere two in one place


def test_a_value_that_is_not_finite_leaves_a_gap_and_is_told():
    picture = pictures.curve({"one device": [3, 2, math.nan, 1, math.inf, 0.5]})
    (path,) = (p.attrib["d"] for p in ET.fromstring(picture.svg).iter(f"{SVG}path") if "stroke-linejoin" in p.attrib)
    assert path.count("M") == 3
    assert picture.alt == "loss over step: one device from 3 at 0 to 0.5 at 5, lowest 0.5 at 5, not finite at 2."
    for values in ([1.0], [2.0] * 5, [0.0, 0.0], jnp.float32([3, 2]), np.float16([3, 2])):  # short, constant, JAX's
        assert len(curves(pictures.curve({"one device": values}))[0]) == len(values)


def test_a_long_curve_keeps_its_spikes():
    values = np.ones(100_000)
    values[31_415], values[27_182] = 9.0, -7.0
    picture = pictures.curve({"one device": values})
    _, up = scales(picture)
    reads = [read_off(up, y, False) for _, y in curves(picture)[0]]
    assert max(reads) == pytest.approx(9, abs=0.1) and min(reads) == pytest.approx(-7, abs=0.1)
    assert len(picture.svg) < 12_000 and "lowest -7 at 27,182" in picture.alt
