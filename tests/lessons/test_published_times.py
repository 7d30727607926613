"""Published times of programs of others beside their plans, as `publish/recorders/published.py` wrote them.

Decoding Llama 3.1 70B with 2048 places of cache, and reading its prompts, are what can be compared (`COMPARED`). Of the
other rows a kernel decides at run time how much is read of a cache or of experts; these show what that does.
"""

import json
from pathlib import Path
from statistics import median

import pytest

RECORD = json.loads((Path(__file__).parents[2] / "lessons/ch15_pods/published.json").read_text())
ROWS = RECORD["rows"]
COMPARED = {k: r for k, r in ROWS.items() if r["model"] == "llama3" and r["length"] == 2048}
ONCE = {k: r for k, r in COMPARED.items() if r["kind"] in ("decode", "prefill")}  # each published figure once
# Tokens a second of each sequence, from the README by hand: (mesh, batch, length) → figure
TOKENS = {
    ("llama3", 1, 8): 159, ("llama3", 1, 16): 135, ("llama3", 1, 32): 108, ("llama3", 1, 64): 68.7,
    ("llama3", 1, 128): 39.3, ("llama3", 2, 8): 84.4, ("llama3", 2, 16): 80.2, ("llama3", 2, 32): 74.5,
    ("llama3", 2, 64): 58.4, ("llama3", 2, 128): 50.2, ("llama4", 1, 16): 76.3, ("llama4", 1, 32): 73.0,
    ("deepseek_r1_jax", 1, 8): 48.0, ("deepseek_r1_jax", 1, 128): 17.4,
}  # fmt: skip
PREFILL = {(1, 8): 0.496, (1, 32): 2.05, (2, 8): 0.309, (2, 32): 1.35}  # seconds
# What was measured above the sum of the three: by how much.
ABOVE = {
    "llama3_1,8,2_8_2048_splash": 1.02,
    "llama3_1,8,2_128_2048_decode": 1.009,
    "llama3_1,8,2_128_2048_kernel": 1.004,
    "llama3_2,8,1_8_2048_prefill": 1.001,
    "llama3_2,8,1_8_2048_splash": 1.025,
    "llama3_2,8,1_64_2048_decode": 1.003,
    "llama3_2,8,1_64_2048_kernel": 1.006,
}


def three(row):
    return [row["figures"][name] for name in ("compute", "memory", "network")]


def ratio(row):
    return row["figures"]["seconds"] / row["published"]


def test_what_is_published_is_what_the_readme_prints_and_each_estimate_lies_between_the_longest_part_and_their_sum():
    assert len(RECORD["commit"]) == 40 and {"jax", "libtpu"} <= set(RECORD["versions"])
    for key, row in ROWS.items():
        assert row["source"].startswith(f"{row['model']}/README.md:") and row["differs"], key
        assert max(three(row)) * 0.999 <= row["figures"]["seconds"] <= sum(three(row)) * 1.001, key
        where = row["mesh"][0], row["batch"]
        if row["kind"] in ("prefill", "splash"):
            assert row["published"] == PREFILL[where], key
        elif row["length"] != 8192:
            assert row["published"] == pytest.approx(1 / TOKENS[row["model"], *where], rel=1e-3), key


def test_what_was_measured_lies_between_them_too_or_just_above_and_is_near_the_estimate():
    below = {key for key, row in COMPARED.items() if row["published"] < max(three(row))}
    above = {key: round(row["published"] / sum(three(row)), 3) for key, row in COMPARED.items()}
    assert not below
    assert {key: much for key, much in above.items() if much > 1} == ABOVE
    assert len(ONCE) == 14 and len(ONCE.keys() - ABOVE.keys()) == 11
    # and the estimate is near it
    assert 0.85 < median(map(ratio, ONCE.values())) < 1.15
    assert all(0.7 < ratio(row) < 1.0 for row in COMPARED.values())  # peaks: never slower than the machine


def test_each_published_figure_counted_once_as_chapter_20_counts_them():
    """By the plan with a kernel if there is one: 11 of 17 between the bounds; the schedule is too short for many."""
    once = {}
    for row in ROWS.values():
        if row["model"] == "llama3":
            figure = *row["mesh"], row["batch"], row["length"], row["published"]
            if row["kind"] in ("kernel", "splash") or figure not in once:
                once[figure] = row
    below = [r["published"] / max(three(r)) for r in once.values() if r["published"] < max(three(r))]
    above = [r["published"] / sum(three(r)) for r in once.values() if r["published"] > sum(three(r))]
    assert (len(once), len(below), len(above)) == (17, 2, 4)
    assert sorted(below) == pytest.approx([0.88, 0.95], abs=0.005) and 1.02 < max(above) <= 1.025
    times = [1 / ratio(r) for r in once.values()]
    late = [1 / ratio(r) for r in once.values() if r["batch"] >= 64]
    assert (min(times), max(times)) == pytest.approx((0.87, 1.39), abs=0.005)
    assert (min(late), max(late)) == pytest.approx((1.28, 1.39), abs=0.005)
    assert (7287 / max(late), 7287 / min(late)) == pytest.approx((5200, 5700), rel=0.02)


def test_a_kernel_that_reads_what_is_filled_or_needed_is_faster_than_all_of_it():
    less = [ROWS[key] for key in ("llama3_1,8,2_32_8192_decode", "llama4_1,4,4_16_4096_decode")]
    assert all(row["published"] < max(three(row)) == row["figures"]["memory"] for row in less)
