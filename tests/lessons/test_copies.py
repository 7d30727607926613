"""Copies that drift apart are never right: each solution again, its first copy right and every other one off."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from grader.author.chapter_files import functions

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests/support/drifted.py"
# Those of which some array of the result has copies, by chapter.
COPIES = {
    "ch02_pmap": ("train_step", "masked_mean"),
    "ch03_sharding": ("spec_for_picture", "pad_and_slice"),
    "ch04_jit": ("quiet_product", "known_to_all"),
    "ch05_constraints": ("dense",),
    "ch06_shard_map": ("block_sums", "mean_and_variance", "first_largest"),
    "ch07_collectives": ("ring_all_reduce",),
    "ch08_three_ways": ("mlp_by_constraints", "mlp_by_hand", "mlp_explicit"),
    "ch09_training": (
        "dropout_step",
        "shard_to_fit",
        "gated_mlp",
        "accumulated_gradient",
        "two_steps_in_one_memory",
        "fsdp_step",
        "through_stages",
    ),
    "ch17_step": ("state_like", "zero_one", "summed_in_f32", "keep_by_name"),
    "ch19_sequences": ("rotary",),
    "ch20_serving": ("attend_cut", "decode_step"),
    "ch21_experts": ("queue", "moe", "balance_loss"),
    "ch23_from_pytorch": ("clipped",),
    "ch24_your_program": ("drifts",),
}
OFTEN = ("ch06_shard_map", "ch09_training")  # in every `make test`
MARKS = pytest.mark.long, [pytest.mark.long, pytest.mark.rarely]  # Part III is as long as all others


def test_they_are_exercises():
    assert all(set(names) <= set(functions(ROOT / "lessons" / c / "exercises.py")) for c, names in COPIES.items())
    assert sum(map(len, COPIES.values())) == 33


@pytest.mark.parametrize("chapter", [pytest.param(c, marks=[] if c in OFTEN else MARKS[c > "ch17"]) for c in COPIES])
def test_copies_that_drift_apart_are_not_right(chapter):
    command = [sys.executable, PROGRAM, chapter, *COPIES[chapter]]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {name: ["wrong", "copies"] for name in COPIES[chapter]}
