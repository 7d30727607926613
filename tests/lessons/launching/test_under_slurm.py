"""Chapter 14's programs and files under a real Slurm of two hosts, which is started once for all of them."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from lessons.ch14_launching import detect
from minipod.cluster import arguments
from publish.recorders import launchers, slurm
from publish.recorders import record_slurm_ends as ends
from publish.recorders.launchers import HERE

CH10 = HERE.parent / "ch10_processes"
RECORDED = json.loads((HERE / "launched.json").read_text("utf-8"))["programs"]["Slurm, two hosts"]
FEW = "--cpus-per-task=1"  # our nodes have eight CPUs in all
CPU = {"JAX_PLATFORMS": "cpu"}
NOT_HERE = pytest.mark.skipif(slurm.why_not() is not None, reason=slurm.why_not() or "")
# What Slurm itself does to a job: its state, the status that the script leaves, and seconds as recorded: it looks at
# time limits every 30, and KillWait is 5.
ENDS = {
    "two steps of one job": ("COMPLETED", 0, 240.0),
    "time limit": ("TIMEOUT", 143, 60.0),
    "node down": ("NODE_FAIL", 143, 30.0),
}


@pytest.fixture(scope="module")
def cluster():
    with slurm.cluster(hosts=2) as here:
        yield here


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def job_of_two(cluster: slurm.Slurm, program: Path, *words: str, **variables: str) -> tuple[str, str]:
    """The state in which `sbatch two_processes.sbatch PROGRAM` ends, and its log."""
    job = cluster.submit(HERE / "two_processes.sbatch", str(program), *words, env=launchers.environment() | variables)
    state = cluster.wait(job)["JobState"]
    return state, Path(f"two-processes-{job}.log").read_text()


@NOT_HERE
def test_a_program_runs_unchanged_and_slurm_would_start_each_job(cluster):
    state, log = job_of_two(cluster, launchers.APART, str(CH10 / "psum_shard_map.py"))
    assert state == "COMPLETED", log
    assert [Path(f"{i}.out").read_text() for i in (0, 1)] == RECORDED["psum_shard_map"]["outputs"]
    for script in HERE.glob("*.sbatch"):
        done = cluster.run("sbatch", FEW, "--test-only", str(script), str(CH10 / "hello.py"))
        assert done.returncode == 0 and "on nodes host[0-1] in partition main" in done.stderr, done.stderr
    assert cluster.run("squeue", "--noheader").stdout == ""


@NOT_HERE
@pytest.mark.long
def test_the_output_is_labelled_where_readers_see_it_and_a_proxy_does_not_stop_the_start(cluster):
    """Without apart.py, as the reader runs it: the file that sbatch names, each line with its process."""
    state, log = job_of_two(cluster, CH10 / "hello.py", http_proxy="http://127.0.0.1:9")
    assert state == "COMPLETED" and {"0: I am process 0 of 2", "1: I am process 1 of 2"} <= set(log.splitlines())


@NOT_HERE
@pytest.mark.long
def test_a_process_that_dies_ends_the_others_and_the_job(cluster):
    state, log = job_of_two(cluster, HERE / "one_dies.py", **CPU)
    assert state == "FAILED"
    assert "0: step 1 is done" in log and "step 2" not in log  # said at once, not lost with the process


@NOT_HERE
@pytest.mark.long
def test_a_python_without_jax_is_named_and_nothing_is_started(cluster, tmp_path: Path):
    (tmp_path / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n')
    (tmp_path / "python").chmod(0o755)
    state, log = job_of_two(cluster, CH10 / "hello.py", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert (state, log) == ("FAILED", f"{tmp_path}/python has no JAX: activate before sbatch\n")


@NOT_HERE
@pytest.mark.long
@pytest.mark.parametrize("script", ["one_per_host", "one_per_gpu"])
def test_which_gpus_jax_would_take(cluster, script: str, tmp_path: Path):
    devices = {"one_per_host": [list(range(8))] * 2, "one_per_gpu": [[i % 8] for i in range(16)]}[script]
    env = launchers.environment()
    job = cluster.submit(FEW, str(HERE / f"{script}.sbatch"), str(HERE / "assumed.py"), env=env)
    assert cluster.wait(job)["JobState"] == "COMPLETED"
    log = next(tmp_path.glob("*.log")).read_text()
    found = [json.loads(line.partition(": ")[2]) for line in log.splitlines() if "{" in line]
    found.sort(key=lambda one: one["process"])
    assert [(one["process"], one["num_processes"]) for one in found] == [(i, len(devices)) for i in range(len(devices))]
    assert [one["local_device_ids"] for one in found] == devices
    assert {one["variables"]["CUDA_VISIBLE_DEVICES"] for one in found} == {"0,1,2,3,4,5,6,7"}


@NOT_HERE
@pytest.mark.long
@pytest.mark.parametrize("numbers", [None, "0"])
def test_where_each_process_sees_one_gpu_it_can_be_told_to_ask_for_that(cluster, numbers: str | None):
    env = launchers.environment() | CPU | {"JAX_NUM_CPU_DEVICES": "1"}
    env |= {"JAX_LOCAL_DEVICE_IDS": numbers} if numbers else {}
    srun = ["srun", FEW, "--nodes=2", "--ntasks-per-node=2", "--gpus-per-task=1", "--kill-on-bad-exit=1"]
    done = cluster.run(*srun, "python", str(HERE / "assumed.py"), limit=300, env=env)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert sorted(one["process"] for one in found) == [0, 1, 2, 3]
    assert all("," not in one["variables"]["CUDA_VISIBLE_DEVICES"] for one in found)
    assert sorted(one["local_device_ids"][0] for one in found) == ([0] * 4 if numbers else [0, 0, 1, 1])


@NOT_HERE
@pytest.mark.long
def test_what_mpirun_leaves_inside_of_a_slurm_job(cluster, open_mpi_5: Path):
    """On the first host the batch script's variables; on the other those of a helper that srun started alone."""
    says = "import json, os, socket; print(json.dumps([socket.gethostname(), dict(os.environ)]))"
    Path("says.py").write_text(says)
    Path("job.sbatch").write_text("#!/bin/sh\nmpirun -n 4 --map-by ppr:2:node python -u says.py\n")
    env = launchers.environment(open_mpi_5 / "bin") | launchers.ROOT_MAY | launchers.CROWD
    job = cluster.submit("--nodes=2", "--ntasks-per-node=2", "--output=log", "job.sbatch", env=env)
    end, log = cluster.wait(job, seconds=launchers.LIMIT), Path("log").read_text()
    assert end["JobState"] == "COMPLETED", log
    said = [json.loads(line) for line in log.splitlines() if line.startswith("[")]
    assert sorted(host for host, _ in said) == ["host0"] * 2 + ["host1"] * 2
    for host, found in said:
        made_up = detect.MADE_UP["the batch script"] if host == "host0" else detect.HELPER
        assert {name for name in detect.MADE_UP["srun"] if name in found} == set(made_up)
        assert found["SLURM_PROCID"] == found["SLURM_LOCALID"] == "0"
        assert found["OMPI_COMM_WORLD_SIZE"] == "4" and arguments.OPEN_MPI_4 not in found
        assert arguments.launcher(found) == "mpi4py"
        assert host == "host0" or (found["SLURM_NTASKS"], found["SLURM_STEP_NODELIST"]) == ("1", "host1")


def check_ends(found: dict[str, list[dict[str, Any]]]) -> None:
    said = {way: {(one["state"], one["status"], one["reason"]) for one in tries} for way, tries in found.items()}
    assert said == {way: {(state, status, True)} for way, (state, status, _) in ENDS.items()}


def test_what_is_recorded_of_slurm_s_own_ends_is_as_the_page_says():
    found = json.loads((ends.HERE / "slurm_ends.json").read_text("utf-8"))
    del found["recorded"]
    check_ends(found)
    for way, tries in found.items():
        assert len(tries) == ends.TRIES and max(one["seconds"] for one in tries) < ENDS[way][2]


@NOT_HERE
@pytest.mark.long
@pytest.mark.rarely
def test_slurm_ends_jobs_so_again(cluster):
    check_ends(ends.record(cluster, tries=1))
