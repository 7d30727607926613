"""A Slurm of our own, on one host and on two; and nothing is left of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from still_running import running_with, until

from publish.recorders import slurm

WHY_NOT = slurm.why_not()
needs_slurm = pytest.mark.skipif(WHY_NOT is not None, reason=WHY_NOT or "")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)


@needs_slurm
@pytest.mark.parametrize(
    ("hosts", "names"), [(1, ["host0"] * 2), pytest.param(2, ["host0", "host1"], marks=pytest.mark.long)]
)
def test_a_job_has_a_task_on_each_node_with_the_gpus_that_it_asks_for(hosts: int, names: list[str]):
    with slurm.cluster(hosts=hosts) as cluster:
        where = "echo $(hostname) $SLURM_PROCID of $SLURM_NTASKS"
        done = cluster.run("srun", "--nodes=2", "--label", "sh", "-c", where)
        show = ["--label", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES"]
        whole = cluster.run("srun", "--gpus-per-node=8", *show)
        each = cluster.run("srun", "--nodes=1", "--ntasks=2", "--gpus-per-task=1", *show)
        with pytest.raises(RuntimeError, match="invalid partition specified: gpus"):
            cluster.submit("--partition=gpus", "--wrap=hostname")
        folder = cluster.folder
    assert sorted(done.stdout.splitlines()) == [f"{i}: {name} {i} of 2" for i, name in enumerate(names)]
    assert whole.stdout == "0: 0,1,2,3,4,5,6,7\n"
    assert sorted(each.stdout.splitlines()) == ["0: 0", "1: 1"]
    assert not folder.exists()


KILLED = """
import slurm
with slurm.cluster() as cluster:
    cluster.submit("--nodes=2", "--wrap=srun sleep 1017")
    print(cluster.folder, flush=True)
    input()
"""


@needs_slurm
def test_nothing_is_left_when_the_parent_is_killed():
    env = {**os.environ, "PYTHONPATH": str(Path(slurm.__file__).parent)}
    parent = subprocess.Popen([sys.executable, "-c", KILLED], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert parent.stdout
    folder = parent.stdout.readline().decode().strip()
    assert until(lambda: running_with("sleep", "1017", seconds=0))
    parent.kill()
    parent.communicate()
    assert not running_with("sleep", "1017")
    assert not running_with(folder)
    assert until(lambda: not Path(folder).exists())


def test_without_its_programs_or_root_it_says_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(slurm.sys, "platform", "linux")
    monkeypatch.setattr(slurm.shutil, "which", lambda name, path: None if name == "slurmd" else f"/usr/sbin/{name}")
    assert slurm.why_not() == "Slurm needs the command slurmd, which is missing here: install slurm-wlm"
    monkeypatch.setattr(slurm.shutil, "which", lambda name, path: f"/usr/sbin/{name}")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert slurm.why_not() == "Slurm's daemons need root here"
    with pytest.raises(PermissionError, match="need root"), slurm.cluster():
        pass
