"""Stopped, killed, and started again."""

import os
import re
import subprocess
import sys
from dataclasses import replace

import jax
import numpy as np
import pytest
from common import ROOT, SETTINGS
from minipod.guard import OutOfStep, meet
from minipod.testing import reach

from byte_lm import Unusable
from byte_lm.layouts import make_mesh
from byte_lm.training import train


@pytest.mark.devices(8, seconds=180)
def test_a_restart_continues_to_the_digit_and_on_another_mesh_up_to_rounding(tmp_path):
    def losses(folder, steps, mesh):
        return list(train(SETTINGS, mesh, str(tmp_path / folder), steps, every=4))

    eight = make_mesh(8)
    undisturbed = losses("undisturbed", 10, eight)
    assert [step for step, _ in undisturbed] == [*range(10)]
    assert losses("stopped", 4, eight) + losses("stopped", 8, eight) == undisturbed[:8]
    last = losses("stopped", 10, make_mesh(2, 4))
    np.testing.assert_allclose(last, undisturbed[8:], rtol=1e-5)

    with pytest.raises(Unusable, match="made with seed 0, not 1"):
        next(train(replace(SETTINGS, seed=1), eight, str(tmp_path / "stopped"), 12, every=4))


@pytest.mark.processes(2, devices=4, grace=20, seconds=180)
@pytest.mark.fault("kill", process=1, step=2)
def test_who_is_left_notices_and_does_not_go_on(shared_tmp_path):
    done = []

    def begin(step):
        reach(step)  # here process 1 is killed
        meet(f"step {step}", seconds=5)  # here the other one notices
        done.append(step)

    with pytest.raises(OutOfStep, match="process 1 did not arrive"):
        list(train(SETTINGS, make_mesh(8), str(shared_tmp_path), 4, 4, begin))
    assert jax.process_index() == 0 and done == [0, 1]


def started(folder, program="train.py") -> tuple[int, list[str]]:
    """(exit code, a line for each step) of a program in two processes with four devices each."""
    command = [sys.executable, "-m", "minipod", "run", "-n", "2", "-d", "4", program, str(folder)]
    options = ["--steps", "12", "--every", "3", "--layers", "1"]
    done = subprocess.run([*command, *options], cwd=ROOT, capture_output=True, text=True, timeout=300)
    return done.returncode, re.findall(r"step \d+ loss .+", done.stdout)


def test_after_a_process_was_killed_the_same_losses_come(tmp_path):
    code, undisturbed = started(tmp_path / "undisturbed")
    assert code == 0 and len(undisturbed) == 12
    code, before = started(tmp_path / "killed", "tests/killed.py")
    assert code != 0 and before == undisturbed[: len(before)] and len(before) in (7, 8)
    code, again = started(tmp_path / "killed")
    assert code == 0 and len(again) in (6, 9)  # from step 6 on, or from 3 where that one was not yet whole
    assert again == undisturbed[-len(again) :]


def test_where_a_launcher_was_missed_it_does_not_train_alone(tmp_path):
    """As in a job of Slurm without `srun`."""
    command = [sys.executable, str(ROOT / "train.py"), str(tmp_path / "run")]
    env = {name: value for name, value in os.environ.items() if not name.startswith(("MINIPOD_", "SLURM_", "OMPI_"))}
    done = subprocess.run(command, env=env | {"SLURM_JOB_ID": "7"}, capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.endswith(
        "train.py: this process is in a Slurm job, but not in one of its steps: start the program with `srun`\n"
    )
    assert not (tmp_path / "run").exists()
