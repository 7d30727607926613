"""The programs of chapter 10 run unchanged under Open MPI's own launcher."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

LESSON = Path(__file__).resolve().parents[3] / "lessons/ch10_processes"
ROOT = LESSON.parents[1]

pytestmark = pytest.mark.skipif(
    shutil.which("mpirun") is None, reason="mpirun is not installed: apt install openmpi-bin"
)


# What Python prints goes to a file of its own: gloo writes into the lines of standard output, piece by piece.
APART = """
import os, runpy, sys
sys.stdout = open(os.environ["OMPI_COMM_WORLD_RANK"], "w")
runpy.run_path(sys.argv[1], run_name="__main__")
"""


@pytest.fixture
def mpirun(tmp_path: Path):
    """mpirun(program): what it prints under `mpirun -n 2`, process by process."""

    def run(program: str) -> list[str]:
        command = ["mpirun", "-n", "2", "--oversubscribe", "--timeout", "120"]
        command += ["--allow-run-as-root"] * (os.geteuid() == 0)
        env = {name: value for name, value in os.environ.items() if not name.startswith(("MINIPOD_", "XLA_FLAGS"))}
        env |= {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "4", "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [*command, sys.executable, "-c", APART, LESSON / program],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=150,
            env=env,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return [(tmp_path / rank).read_text() for rank in "01"]

    return run


def test_each_process_says_who_it_is(mpirun):
    everyone = "all:  [0, 1, 2, 3, 2048, 2049, 2050, 2051]\n"
    assert mpirun("hello.py") == [
        f"I am process 0 of 2\nmine: [0, 1, 2, 3]\n{everyone}",
        f"I am process 1 of 2\nmine: [2048, 2049, 2050, 2051]\n{everyone}",
    ]


@pytest.mark.long
def test_pmap_sums_over_all_devices(mpirun):
    assert mpirun("psum_pmap.py") == ["shape (4,) with [8.0, 8.0, 8.0, 8.0]\n"] * 2


@pytest.mark.long
def test_shard_map_sums_over_all_devices(mpirun):
    brought = ("I brought [0. 1. 2. 3.]", "I brought [4. 5. 6. 7.]")
    total = "to an array of shape (8,)\nthe total is 28.0\n"
    assert mpirun("psum_shard_map.py") == [f"{mine} {total}" for mine in brought]


@pytest.mark.long
def test_all_compute_and_one_prints(mpirun):
    assert mpirun("all_sum.py") == ["total 8.0\n", ""]
