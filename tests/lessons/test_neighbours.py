"""Chapter 14's neighbours: one sum in three ways, one step in three libraries, and what is recorded of them."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lessons.ch14_launching import detect, neighbours
from minipod.cluster import run
from minipod.processes import free_port

LESSON = Path(neighbours.__file__).parent
ROOT = LESSON.parents[1]
TOTAL = "28.0"  # 0 + 1 + … + 7


def totals(outputs: list[str]) -> list[list[str]]:
    return [re.findall(r"total (\S+)", text) for text in outputs]


def losses(text: str) -> list[float]:
    return [float(x) for x in re.findall(r"loss (\S+)", text)]


@pytest.fixture(scope="module")
def recorded() -> dict:
    return json.loads(neighbours.FILE.read_text("utf-8"))["printed"]


def test_three_ways_give_one_number(recorded):
    by_jax = run(str(LESSON / "sum_jax.py"), processes=2, devices=4)
    by_rpc = run(str(LESSON / "sum_rpc.py"), f"127.0.0.1:{free_port()}", processes=2, devices=4)
    assert totals(by_jax.outputs) == totals(by_rpc.outputs) == totals(recorded["sum_mpi.py"]) == [[TOTAL]] * 2


def test_plain_jax_has_the_recorded_losses_and_the_libraries_have_the_same(recorded):
    plain = run(str(LESSON / "step_plain.py"), processes=2, devices=4).outputs
    assert losses(plain[0]) == losses(plain[1])
    assert losses(plain[0]) == pytest.approx(losses(recorded["step_plain.py"][0]), rel=1e-5)
    assert recorded["step_nnx.py"] == recorded["step_haiku.py"] == recorded["step_plain.py"]


def test_detectors_say_what_the_page_says():
    found: dict[str, dict] = dict(zip(detect.MADE_UP, detect.asked(*detect.MADE_UP.values()), strict=True))
    numbers = {name: (a["detector"], a["process_id"], a["num_processes"]) for name, a in found.items()}
    nobody = (None, None, None)
    assert numbers == {
        "srun": ("slurm", 5, 8),
        "the batch script": nobody,
        "Open MPI 4": ("ompi", 5, 8),
        "Open MPI 5": nobody,
        "GKE, TPU": ("gketpu", 5, 8),
        "by hand": nobody,
    }
    assert [found[name]["local_device_ids"] for name in ("srun", "Open MPI 4", "GKE, TPU")] == [[1], [1], None]


@pytest.mark.long
def test_the_libraries_and_mpi4jax_say_again_what_is_recorded(tmp_path: Path, recorded):
    """In an environment of its own, for the book does not install them."""
    if shutil.which("mpirun") is None:
        pytest.skip("mpirun is not installed: apt install openmpi-bin")
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "env"], check=True)
    python = str(tmp_path / "env/bin/python")
    pip = [python, "-m", "pip", "install", "--quiet", "--constraint", "constraints.txt"]
    done = subprocess.run([*pip, "--editable", ".[neighbours]"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    env = os.environ | {"PIP_CONSTRAINT": str(ROOT / "constraints.txt")}  # for the build's own environment, too
    built = subprocess.run([*pip, "mpi4jax"], cwd=ROOT, env=env, capture_output=True, text=True)
    if built.returncode:
        why = "mpi.h is missing" if "mpi.h" in built.stderr else built.stderr.strip().splitlines()[-1]
        pytest.skip(f"mpi4jax cannot be built here ({why}): apt install libopenmpi-dev, and no half of a CUDA toolkit")
    copy = tmp_path / "lesson"
    shutil.copytree(LESSON, copy)
    subprocess.run([python, copy / "record_neighbours.py"], check=True, timeout=400)
    again = json.loads((copy / "neighbours.json").read_text("utf-8"))["printed"]
    assert again["sum_mpi.py"] == recorded["sum_mpi.py"]
    assert again["step_nnx.py"] == again["step_haiku.py"] == again["step_plain.py"]
    assert losses(again["step_plain.py"][0]) == pytest.approx(losses(recorded["step_plain.py"][0]), rel=1e-5)
