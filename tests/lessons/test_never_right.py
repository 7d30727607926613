"""Copies that drift apart are never right, nor is what comes back of a wrong answer and is changed on its way."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LESSONS = sorted(path.name for path in (ROOT / "lessons").glob("ch[0-9]*"))
# Exercises of which some array of the result has copies, by chapter.
COPIES = {
    "ch02_pmap": "train_step masked_mean",
    "ch03_sharding": "spec_for_picture pad_and_slice",
    "ch04_jit": "quiet_product known_to_all",
    "ch05_constraints": "dense",
    "ch06_shard_map": "block_sums mean_and_variance first_largest",
    "ch07_collectives": "ring_all_reduce",
    "ch08_three_ways": "mlp_by_constraints mlp_by_hand mlp_explicit",
    "ch09_training": "dropout_step shard_to_fit gated_mlp accumulated_gradient two_steps_in_one_memory fsdp_step "
    "through_stages",
    "ch17_step": "state_like zero_one summed_in_f32 keep_by_name",
    "ch19_sequences": "rotary",
    "ch20_serving": "attend_cut decode_step",
    "ch21_experts": "queue moe balance_loss",
    "ch23_from_pytorch": "clipped",
    "ch24_your_program": "drifts",
}
MARKS = pytest.mark.long, [pytest.mark.long, pytest.mark.rarely]  # Part III is as long as all others


def told(program: str, *words: str):
    command = [sys.executable, ROOT / "tests/support" / program, *words]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "chapter", [pytest.param(c, marks=[] if c == "ch06_shard_map" else MARKS[c > "ch17"]) for c in COPIES]
)
def test_copies_that_drift_apart_are_not_right(chapter):
    """Each solution again, its first copy right and every other one off."""
    names = COPIES[chapter].split()
    assert told("drifted.py", chapter, *names) == {name: ["wrong", "copies"] for name in names}


@pytest.mark.parametrize(
    ("chapter", "count", "most"),
    [
        ("ch03_sharding", 300, 2),
        *(pytest.param(c, 6500, 99, marks=pytest.mark.rarely, id=c) for c in LESSONS),  # in all more than 100,000
    ],
)
def test_a_wrong_answer_whose_observation_is_changed_is_not_right(chapter, count, most):
    tried, read, right = told("forged.py", chapter, str(count), str(most))
    assert right == []
    assert tried >= count * 0.9 or most > 2
    assert read > 0 or not tried
