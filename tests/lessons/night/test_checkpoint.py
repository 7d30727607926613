"""Chapter 11: a checkpoint is restored on any number of processes, and nothing is lost when a file fails."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from minipod import cluster

LESSON = Path(__file__).resolve().parents[3] / "lessons/ch11_data"
LONG = pytest.mark.long
ROUNDING = 1e-5  # relative: sums over another number of devices add up in another order
# Runs a program whose process WHO cannot write files of more than 100 bytes: a disk that is full on one host only.
NO_ROOM = """
import os, resource, runpy, sys
who, program, *sys.argv[1:] = sys.argv[1:]
if os.environ["MINIPOD_PROCESS"] == who:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
sys.path.insert(0, os.path.dirname(program))
runpy.run_path(program, run_name="__main__")
"""


def train(folder: str, last: int, processes: int = 2, devices: int = 4, check: bool = True):
    return cluster.run(LESSON / "train.py", folder, str(last), processes=processes, devices=devices, check=check)


def losses(folder: str) -> np.ndarray:
    return np.array(json.loads(Path(f"{folder}.json").read_text()))


def steps(folder: str) -> list[str]:
    """The checkpoints that count, and any file that is none."""
    return sorted(path.name for path in Path(folder).iterdir() if not path.name.endswith("-tmp"))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with the data, a run of 20 steps that was never stopped, and one that was stopped after 10."""
    folder = tmp_path_factory.mktemp("trained")
    rng = np.random.default_rng(0)
    (folder / "data").mkdir()
    np.save(folder / "data/train.npy", rng.normal(size=(512, 9)).astype(np.float32))
    with contextlib.chdir(folder):
        train("whole", 20)
        train("stopped", 10)
    return folder


@pytest.fixture
def here(trained, tmp_path, monkeypatch):
    """A copy of it all, to go on in."""
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


@LONG
@pytest.mark.parametrize(("processes", "devices"), [(4, 2), (1, 8), (1, 1)])
def test_restored_in_another_number_they_are_equal_to_rounding(here, processes, devices):
    run = train("stopped", 20, processes, devices)
    assert all("begins after step 10" in printed for printed in run.outputs)
    np.testing.assert_allclose(losses("stopped")[10:], losses("whole")[10:], rtol=ROUNDING)


@LONG
@pytest.mark.parametrize("who", [0, 1])
def test_a_process_that_cannot_write_says_so_and_the_step_before_is_kept(here, who):
    Path("no_room.py").write_text(NO_ROOM)
    run = cluster.run("no_room.py", str(who), str(LESSON / "train.py"), "stopped", "20", check=False)
    assert f"process {who} cannot write checkpoint 20, step 10 is kept" in run.outputs[who]
    assert "File too large" in run.outputs[who] and not run.ok
    assert steps("stopped") == ["10"]
    assert "begins after step 10" in train("stopped", 20).outputs[0]
    assert losses("stopped")[10:].tolist() == losses("whole")[10:].tolist()


@LONG
@pytest.mark.parametrize("pattern", ["default/d/*", "default/_METADATA"])
def test_a_truncated_checkpoint_is_named_and_the_one_before_can_be_restored(here, pattern):
    train("stopped", 20)
    for file in Path("stopped/20").glob(pattern):
        os.truncate(file, 30)
    run = train("stopped", 30, check=False)
    assert not run.ok
    assert "stopped/20; remove it to go on from 10" in "".join(run.outputs)
    assert steps("stopped") == ["10", "20"]
    shutil.rmtree("stopped/20")
    assert "begins after step 10" in train("stopped", 20).outputs[0]


@pytest.mark.parametrize("damage", [pytest.param("missing", marks=LONG), "truncated"])
def test_a_data_file_that_one_process_cannot_read_ends_all_with_a_sentence(tmp_path, monkeypatch, damage):
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    Path("data/index.txt").write_text("a.npy\nb.npy\nc.npy")
    for name in "abc":
        np.save(f"data/{name}.npy", np.ones((5, 4), np.float32))
    if damage == "missing":
        Path("data/b.npy").unlink()
    else:
        os.truncate("data/b.npy", 150)
    run = cluster.run(LESSON / "shares.py", check=False)
    assert run.codes == [1, 1]
    assert run.outputs[0] == "stopped because of process 1\n"
    assert run.outputs[1].startswith("process 1 cannot read its part of the data: ") and run.outputs[1].count("\n") == 1


def test_orbax_is_imported_only_where_it_is_used():
    code = "import sys, minipod.cluster, minipod.pictures, grader.run.pytest_plugin; sys.exit('orbax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=LESSON.parents[1]).returncode == 0
