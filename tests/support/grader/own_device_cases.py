"""`--device real` from within: which child has which devices, and where budgets are counted.

Run by test_in_a_fresh_process.py: checks are forked from it, and it must have started no device.
"""

import os
import signal
from pathlib import Path

import jax
import pytest
from checker_runs import answer, project

from grader.exercise.exercises import Catalogue
from grader.exercise.spec import Machine, Settings
from grader.home import HERE
from grader.run import checking, mistakes_seen
from minipod import forked
from minipod.forked import forking

TPU, CPU = Machine(8, "tpu", "TPU v5 lite"), Machine(8, "cpu", "cpu")


def test_a_child_has_the_machines_own_devices_at_full_precision():
    def see():
        return [jax.device_count(), jax.config.values["jax_default_matmul_precision"]]

    (seen,) = forked.run(see, devices=None)
    assert seen.status == "ok" and seen.value[1] == "highest"
    (seen,) = forked.run(see, devices=3)
    assert seen.value == [3, None]


@pytest.mark.long
def test_a_budget_is_counted_beside_and_values_are_the_machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A TPU is pretended: its devices are the eight CPU devices that a child finds by itself."""
    spec = Catalogue(HERE / "lessons").spec("ch04_jit.known_to_all")
    solution = (HERE / "solutions/ch04_jit.py").read_text()
    answers = {
        "right": solution,
        "sends more": solution.replace("x.shape[1] < w.shape[1]", "x.shape[1] > w.shape[1]"),
        "wrong": solution.replace("jnp.matmul", "(lambda x, w: x @ w + 1)"),
    }
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    monkeypatch.setenv("JAX_NUM_CPU_DEVICES", "8")
    used, start, seen = [], forked.start, {}

    def noted(look, processes, devices, *more, **named):
        used.append(devices)
        return start(look, processes, devices, *more, **named)

    monkeypatch.setattr(checking.forked, "start", noted)
    for name, text in answers.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "ch04_jit.py").write_text(text)
        check = checking.begin(spec, Settings(tmp_path / name, 1, machine=TPU))
        assert check.counted and check.spec.budget is None
        verdict = checking.finish(check)
        seen[name] = verdict.outcome, checking.in_words(check, "en")
    assert seen["right"][0] == "right" and {None, 8} <= set(used)
    assert seen["sends more"][0] == "wrong" and "bytes" in seen["sends more"][1]
    assert seen["wrong"][0] == "wrong" and "bytes" not in seen["wrong"][1], seen


def test_one_child_at_a_time_has_the_devices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    most, start = [0], forked.start

    def counted(look, processes, devices, *more, **named):
        assert devices is None
        job = start(look, processes, 8, *more, **named)
        most[0] = max(most[0], len(forking._live))
        return job

    for place in (checking.forked, mistakes_seen.forked):
        monkeypatch.setattr(place, "start", counted)
    root = project(tmp_path)
    answer(root, "ch90_one", "def double(x):\n    return 3 * x\n", "three")
    settings = Settings(root / "three", 1, machine=CPU)
    verdict = checking.finish(checking.begin(Catalogue(root / "lessons").spec("ch90_one.double"), settings))
    assert verdict.outcome == "wrong" and most == [1]


def test_an_interrupt_during_a_fork_is_not_lost():
    once = [os.getpid()]
    os.register_at_fork(before=lambda: once and os.kill(once.pop(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        forked.run(lambda: 1)
    forked.stop_all()
    assert not once and not forking._live
