"""`pytest lessons/` inside a cluster: the exercises for two processes use it; process 0 reports, and all end."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from checker_runs import answer
from launchers import NO_MPI, ROOT, clean

from publish.recorders import slurm

RIGHT = """
from jax.experimental import multihost_utils
def everybody(x):
    return float(multihost_utils.process_allgather(x).sum())
"""
ONE_ALONE = "import jax\n" + RIGHT.replace("    return", "    if jax.process_index() == {}:\n        {}\n    return")
ANSWERS = {
    "right": (RIGHT, 0, "exercises checked here: 1 of 1 solved"),
    "wrong in one": (ONE_ALONE.format(1, "return float(multihost_utils.process_allgather(x).sum()) + 1"), 1, "WRONG"),
    "raises in one": (ONE_ALONE.format(1, "raise RuntimeError('no disk')"), 1, "no disk"),
    "hangs in one": (  # on a busy machine the limit of the whole answer may come first
        ONE_ALONE.format(1, "import time; time.sleep(1000)"),
        1,
        "because another process|had not finished after",
    ),
    "hangs in process 0": (ONE_ALONE.format(0, "import time; time.sleep(1000)"), 1, "HUNG"),
    "ends in one": (ONE_ALONE.format(1, "import os; os._exit(3)"), 1, "everybody"),
}
PYTEST = [sys.executable, "-m", "pytest", "lessons/ch91_pair", "-pno:cacheprovider", "--lang=en", "--limit=30"]
PYTEST += ["--color=no", "-v"]
MPIRUN = ["mpirun", "--oversubscribe", "--timeout", "240", *["--allow-run-as-root"] * (os.geteuid() == 0), "-n", "2"]


def run(command: list[str], root: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=root, env=clean(**env), capture_output=True, text=True, stdin=subprocess.DEVNULL)


@pytest.mark.long
@pytest.mark.skipif(NO_MPI is not None, reason=NO_MPI or "")
@pytest.mark.parametrize("kind", ANSWERS)
def test_under_mpirun_whatever_one_process_does_is_told_by_one_and_all_end(root: Path, kind: str):
    text, code, says = ANSWERS[kind]
    answer(root, "ch91_pair", text)
    done = run([*MPIRUN, *PYTEST], root)
    assert done.returncode == code and re.search(says, done.stdout), done.stdout + done.stderr
    if kind in ("right", "hangs in one"):
        assert done.stdout.count("100%") == 1  # the other is quiet
    if kind == "right":
        done = run([*MPIRUN, *PYTEST[:3], "lessons/ch10_processes", "--solutions", *PYTEST[4:]], ROOT)
        assert done.returncode == 0 and done.stdout.count("exercises checked here: 4 of 4 solved") == 1, done.stdout


@pytest.mark.long
@pytest.mark.skipif(slurm.why_not() is not None, reason=str(slurm.why_not()))
def test_under_srun_a_wrong_answer_is_told_by_one(root: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(root)
    answer(root, "ch91_pair", ANSWERS["wrong in one"][0])
    with slurm.cluster() as cluster:
        done = cluster.run("srun", "-n2", "--cpu-bind=none", *PYTEST, env=clean(), limit=240)
    assert done.returncode == 1 and done.stdout.count("everybody") and "process 1" in done.stdout


def test_two_launchers_at_once_are_one_sentence(root: Path):
    two = {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "1", "SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "0"}
    done = run(PYTEST, root, **two)
    said = "Two launchers disagree about this process: Open MPI (process 1 of 2), Slurm (process 0 of 4)."
    assert done.returncode == 4 and f"ERROR: {said} Start it with only one of them.\n" in done.stderr
