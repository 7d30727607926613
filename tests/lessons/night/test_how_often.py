"""Chapter 16's arithmetic: how often to save, against dice; and which process finds its program in JAX's cache."""

from pathlib import Path

import pytest

from minipod import cluster
from publish.page import demo_cells

LESSON = Path(__file__).resolve().parents[3] / "lessons/ch16_capstone"


@pytest.fixture(scope="module")
def said() -> dict:
    found: dict = {"print": lambda *_: None}
    exec(demo_cells(LESSON / "demo.py")["how-often"], found)
    return found


@pytest.mark.parametrize("save", [1, 5, 60])
@pytest.mark.parametrize("between", [3 * 3600, 24 * 3600])
def test_the_formula_says_what_dice_say_near_the_best_and_no_other_time_loses_less(said, save, between):
    best, gap = (2 * save * between) ** 0.5, 60
    for by in (0.5, 1, 2):
        paper = 1 - said["lost"](best * by, save, gap, between)
        assert said["trained"](best * by, save, gap, between) == pytest.approx(paper, abs=0.015)
    for by in (0.1, 0.3, 0.7, 1.5, 3, 10):
        assert said["lost"](best, save, gap, between) < said["lost"](best * by, save, gap, between)
        assert said["trained"](best, save, gap, between) > said["trained"](best * by, save, gap, between) - 0.005


def test_without_failures_in_a_turn_the_dice_count_each_turn_once(said):
    assert said["trained"](10, 0, 0, 1e9) == pytest.approx(1, abs=1e-6)
    assert said["trained"](10, 10, 0, 1e9) == pytest.approx(0.5, abs=1e-6)


@pytest.mark.long
def test_process_0_writes_the_cache_and_on_cpus_it_alone_finds_its_program_there(tmp_path):
    env = {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_EXPLAIN_CACHE_MISSES": "1",
    }
    program = str(LESSON / "compiled_before.py")
    first, again = (cluster.run(program, processes=2, devices=1, env=env, limit=600).outputs for _ in range(2))
    assert "Writing jit_step" in first[0] and "Not writing" in first[1]
    assert "Writing jit_step" not in again[0]
    assert "Not writing" in again[1]  # it has compiled once more
    assert len(list(tmp_path.glob("jit_step-*"))) == 1
