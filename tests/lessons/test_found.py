"""What ch08 says that compilers find by themselves: compiled here for the CPU, recorded for a TPU."""

import re
from pathlib import Path

import jax
import pytest

from lessons.ch08_three_ways import what_is_sent

ROOT = Path(__file__).resolve().parents[2]
RECORDED = ROOT / "lessons/ch08_three_ways/found_tpu.txt"


def rows(text: str) -> dict[str, tuple[int, str, str]]:
    """Program → bytes sent, how many are hidden, collectives."""
    found = re.findall(r"^(\S.*?)  +([\d,]+)  (\d of \d)  (.*)$", text, re.M)
    return {name: (int(sent.replace(",", "")), hidden, said) for name, sent, hidden, said in found}


@pytest.fixture(scope="module")
def here():
    return rows(what_is_sent.report(jax.make_mesh((8,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))))


@pytest.fixture(scope="module")
def on_a_tpu():
    return rows(RECORDED.read_text("utf-8"))


def test_a_convolution_is_two_permutes_of_one_row(here, on_a_tpu):
    assert here["convolved"] == (2 * 16 * 4, "0 of 2", "2 collective-permute")
    assert on_a_tpu["convolved"] == (2 * 16 * 2, "0 of 2", "2 collective-permute")  # rounded to bf16


def test_the_same_mean_in_other_words_costs_more(here, on_a_tpu):
    assert min(here["padded"][0], here["joined"][0], on_a_tpu["padded"][0]) > 5 * here["convolved"][0]
    assert on_a_tpu["joined"][0] == here["convolved"][0]


def test_experts_are_two_all_to_alls(here, on_a_tpu):
    """There f32[8, 4, 16] for each expert, back f32[8, 4, 64]; seven eighths leave a device."""
    there_and_back = 7 * (8 * 4 * 16 + 8 * 4 * 64) * 4 // 8
    assert here["experts"] == (there_and_back, "0 of 2", "2 all-to-all")
    assert on_a_tpu["experts"] == (there_and_back // 2, "0 of 2", "2 all-to-all")


def test_only_a_large_product_of_bf16_is_on_the_move_and_only_on_a_tpu(here, on_a_tpu):
    block = 8192 * 8192 * 2 // 8
    moved = {
        (kind, name) for kind, seen in (("cpu", here), ("tpu", on_a_tpu)) for name in seen if "permute" in seen[name][2]
    }
    assert {name for kind, name in moved if name.startswith("product")} == {"product, bf16[8192²]"}
    assert ("cpu", "product, bf16[8192²]") not in moved
    assert on_a_tpu["product, bf16[8192²]"] == (9 * block, "4 of 5", "9 collective-permute")


def test_a_recording_says_of_which_compiler_it_is():
    assert re.fullmatch(r"TPU v5e, 8 chips, libtpu \d+\.\d+\.\d+", RECORDED.read_text("utf-8").splitlines()[0])
