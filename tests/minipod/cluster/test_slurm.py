"""A Slurm of our own: one host and two, jobs that are preempted, requeued, cancelled; and nothing is left of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import slurm
from still_running import running_with, until

WHY_NOT = slurm.why_not()
needs_slurm = pytest.mark.skipif(WHY_NOT is not None, reason=WHY_NOT or "")

# Preemption sends SIGTERM to the tasks. A job that ends then of its own accord counts as ended: it asks to be requeued.
WAITS = """#!/bin/sh
#SBATCH --nodes=2 --ntasks-per-node=1 --exclusive --requeue --open-mode=append --output=waits.log
echo run ${SLURM_RESTART_COUNT:-0}
srun sh -c 'trap "exit 75" TERM; sleep 1000 & wait'
test $? = 75 && echo told && scontrol requeue $SLURM_JOB_ID
"""
URGENT = "#!/bin/sh\n#SBATCH --partition=urgent --nodes=2 --exclusive --output=urgent.log\nsrun hostname\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("waits.sbatch").write_text(WAITS)
    Path("urgent.sbatch").write_text(URGENT)
    return tmp_path


@needs_slurm
@pytest.mark.parametrize(("hosts", "names"), [(1, ["host0", "host0"]), (2, ["host0", "host1"])])
def test_a_job_has_a_task_on_each_node(hosts: int, names: list[str]):
    with slurm.cluster(hosts=hosts) as cluster:
        done = cluster.run(
            "srun", "--nodes=2", "--label", "sh", "-c", "echo $(hostname) $SLURM_PROCID of $SLURM_NTASKS"
        )
        folder = cluster.folder
    assert sorted(done.stdout.splitlines()) == [f"{i}: {name} {i} of 2" for i, name in enumerate(names)]
    assert not folder.exists()


@needs_slurm
def test_tasks_are_given_the_gpus_that_they_ask_for():
    show = ["--label", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES"]
    with slurm.cluster(nodes=1) as cluster:
        whole = cluster.run("srun", "--gpus-per-node=8", *show)
        each = cluster.run("srun", "--ntasks=2", "--gpus-per-task=1", *show)
    assert whole.stdout == "0: 0,1,2,3,4,5,6,7\n"
    assert sorted(each.stdout.splitlines()) == ["0: 0", "1: 1"]


@pytest.mark.long
@needs_slurm
def test_a_job_is_requeued_and_cancelled():
    with slurm.cluster() as cluster:
        job = cluster.submit("waits.sbatch")
        cluster.wait(job, "RUNNING")
        cluster.run("scontrol", "requeue", str(job))
        assert until(lambda: cluster.job(job)["Restarts"] != "0" and cluster.job(job)["JobState"] == "RUNNING")
        assert until(lambda: "run 1" in Path("waits.log").read_text())
        cluster.run("scancel", str(job))
        assert cluster.wait(job)["JobState"] == "CANCELLED"
    assert not running_with("sleep", "1000", seconds=0)


@pytest.mark.long
@needs_slurm
def test_an_urgent_job_preempts_another_which_runs_again_afterwards():
    with slurm.cluster(grace=5) as cluster:
        job = cluster.submit("waits.sbatch")
        assert until(lambda: Path("waits.log").exists() and "run 0" in Path("waits.log").read_text())
        assert cluster.wait(cluster.submit("urgent.sbatch"))["JobState"] == "COMPLETED"
        assert cluster.wait(job, "RUNNING")["Restarts"] == "1"
        assert until(lambda: "run 1" in Path("waits.log").read_text())
    assert "told" in Path("waits.log").read_text().splitlines()


KILLED = """
import slurm
with slurm.cluster() as cluster:
    cluster.submit("waits.sbatch")
    print(cluster.folder, flush=True)
    input()
"""


@needs_slurm
def test_nothing_is_left_when_the_parent_is_killed():
    env = {**os.environ, "PYTHONPATH": str(Path(slurm.__file__).parent)}
    parent = subprocess.Popen([sys.executable, "-c", KILLED], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert parent.stdout
    folder = parent.stdout.readline().decode().strip()
    assert until(lambda: running_with("sleep", "1000", seconds=0))
    parent.kill()
    parent.communicate()
    assert not running_with("sleep", "1000")
    assert not running_with(folder)
    assert until(lambda: not Path(folder).exists())


@needs_slurm
def test_a_wrong_partition_is_named():
    with slurm.cluster(nodes=1) as cluster, pytest.raises(RuntimeError, match="invalid partition specified: gpus"):
        cluster.submit("--partition=gpus", "waits.sbatch")


def test_without_its_programs_the_package_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(slurm.sys, "platform", "linux")
    monkeypatch.setattr(slurm.shutil, "which", lambda name, path: None if name == "slurmd" else f"/usr/sbin/{name}")
    assert slurm.why_not() == "Slurm needs the command slurmd, which is missing here: install slurm-wlm"


def test_without_root_it_says_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(slurm.sys, "platform", "linux")
    monkeypatch.setattr(slurm.shutil, "which", lambda name, path: f"/usr/sbin/{name}")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert slurm.why_not() == "Slurm's daemons need root here"
    with pytest.raises(PermissionError, match="need root"), slurm.cluster():
        pass
