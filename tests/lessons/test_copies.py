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
}
OFTEN = ("ch06_shard_map", "ch09_training")  # in every `make test`


def test_they_are_exercises():
    assert all(set(names) <= set(functions(ROOT / "lessons" / c / "exercises.py")) for c, names in COPIES.items())
    assert sum(map(len, COPIES.values())) == 21


@pytest.mark.parametrize("chapter", [pytest.param(c, marks=[] if c in OFTEN else pytest.mark.long) for c in COPIES])
def test_copies_that_drift_apart_are_not_right(chapter):
    command = [sys.executable, PROGRAM, chapter, *COPIES[chapter]]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {name: ["wrong", "copies"] for name in COPIES[chapter]}
