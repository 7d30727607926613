"""Five programs of chapter 10, unchanged, under the real launchers; what goes wrong there is one sentence."""

import functools
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import slurm
from seldom import rarely
from still_running import until

from lessons.ch14_launching import detect, launchers
from lessons.ch14_launching.record_launchers import HERE, PROGRAMS
from minipod import hosts
from minipod.cluster import Run, arguments
from minipod.processes import kill_group

CH10 = HERE.parent / "ch10_processes"
REASONS: dict[str, Callable[[], str | None]] = {
    "Slurm": slurm.why_not,
    "Open MPI 4": launchers.why_no_mpirun_4,
    "hosts": hosts.why_not,
}
NEEDS = {"Slurm, one host": "Slurm", "Slurm, two hosts": "Slurm", "Open MPI 4": "Open MPI 4"}
NEEDS |= {"GKE's variables": "hosts", "by hand": "hosts"}
OFTEN = ("hello", "psum_shard_map")
SOME = [*OFTEN, *rarely(*(name for name in PROGRAMS if name not in OFTEN))]
RECORDED = json.loads((HERE / "launched.json").read_text("utf-8"))

# What two processes with four devices each print: a sum of ones is the number of devices; 0 + … + 7 is 28.
NOBODY_HAS_ALL = (
    "RuntimeError: Fetching value for `jax.Array` that spans non-addressable (non\n"
    "process local) devices is not possible.\n"
)
ALL = "all:  [0, 1, 2, 3, 2048, 2049, 2050, 2051]\n"
PRINTED = {
    "hello": [
        f"I am process 0 of 2\nmine: [0, 1, 2, 3]\n{ALL}",
        f"I am process 1 of 2\nmine: [2048, 2049, 2050, 2051]\n{ALL}",
    ],
    "all_sum": ["total 8.0\n", ""],
    "psum_pmap": ["shape (4,) with [8.0, 8.0, 8.0, 8.0]\n"] * 2,
    "psum_shard_map": [
        "I brought [0. 1. 2. 3.] to an array of shape (8,)\nthe total is 28.0\n",
        "I brought [4. 5. 6. 7.] to an array of shape (8,)\nthe total is 28.0\n",
    ],
    "print_global": [
        f"{NOBODY_HAS_ALL}mine: [{i}, {i}, {i}, {i}]\nall:  [0. 0. 0. 0. 1. 1. 1. 1.]\n" for i in (0.0, 1.0)
    ],
}


@functools.cache
def why_not(what: str) -> str | None:
    return REASONS[what]()


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def needs(what: str) -> None:
    if reason := why_not(what):
        pytest.skip(reason)


@pytest.fixture(scope="module")
def open_mpi_5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Installed in an environment of its own, beside the system's Open MPI 4."""
    try:
        return launchers.install_open_mpi_5(tmp_path_factory.mktemp("open_mpi_5"))
    except subprocess.CalledProcessError as error:
        pytest.skip(f"pip cannot install Open MPI 5 here: {error.stderr.decode().strip().splitlines()[-1]}")


def run(name: str, program: str, prefix: Path = Path()) -> Run:
    """A program of chapter 10 under a launcher."""
    if name in NEEDS:
        needs(NEEDS[name])
    return launchers.launchers(prefix)[name](str(CH10 / f"{program}.py"))


def test_a_program_runs_unchanged_under_slurm():
    assert run("Slurm, two hosts", "psum_shard_map").outputs == PRINTED["psum_shard_map"]


def test_a_program_runs_unchanged_under_mpirun():
    assert run("Open MPI 4", "hello").outputs == PRINTED["hello"]


@pytest.mark.long
@pytest.mark.parametrize("program", SOME)
@pytest.mark.parametrize("name", [name for name in RECORDED["programs"] if name != "Open MPI 5"])
def test_every_program_prints_the_same_under_every_launcher(name: str, program: str):
    assert run(name, program).outputs == PRINTED[program]


@pytest.mark.long
@pytest.mark.parametrize("program", SOME)
def test_every_program_prints_the_same_under_open_mpi_5(program: str, open_mpi_5: Path):
    assert run("Open MPI 5", program, open_mpi_5).outputs == PRINTED[program]


@pytest.mark.parametrize("name", RECORDED["programs"])
def test_what_is_recorded_is_what_was_printed(name: str):
    assert {p: r["outputs"] for p, r in RECORDED["programs"][name].items()} == PRINTED


@pytest.mark.long
def test_the_output_is_labelled_where_readers_see_it():
    """Without apart.py, as the reader runs it: the file that sbatch names, each line with its process."""
    needs("Slurm")
    with slurm.cluster() as cluster:
        script = str(HERE / "two_processes.sbatch")
        job = cluster.submit(script, str(CH10 / "hello.py"), env=launchers.environment())
        assert cluster.wait(job)["JobState"] == "COMPLETED"
    lines = Path(f"two-processes-{job}.log").read_text().splitlines()
    assert {"0: I am process 0 of 2", "1: I am process 1 of 2"} <= set(lines)


LATE = ["sh", "-c", 'sleep $((SLURM_PROCID * 5)); exec python "$0"', str(CH10 / "hello.py")]  # process 0 comes first


@pytest.mark.long
def test_another_job_on_the_coordinator_s_port_is_named_and_not_harmed():
    needs("Slurm")
    env = launchers.environment() | {"JAX_PLATFORMS": "cpu", "JAX_COORDINATOR_PORT": "7777"}
    with slurm.cluster(hosts=2) as cluster:
        other = cluster.start("python", str(HERE / "other_job.py"), "7777", env=env)
        assert other.stdout and other.stdout.readline() == "listening\n"
        done = cluster.run("srun", "--nodes=2", "--kill-on-bad-exit=1", *LATE, env=env, limit=300)
        assert "process 0 on host0: the coordinator's port is taken, perhaps by another job (host0:7777)" in done.stderr
        assert done.returncode and "Traceback" not in done.stderr
        assert other.poll() is None
        kill_group(other.pid)
        other.communicate()


def job_of_two(program: Path, **variables: str) -> tuple[str, str]:
    """The state in which `sbatch two_processes.sbatch PROGRAM` ends on two hosts, and its log."""
    needs("Slurm")
    with slurm.cluster(hosts=2) as cluster:
        env = launchers.environment() | variables
        job = cluster.submit(str(HERE / "two_processes.sbatch"), str(program), env=env)
        state = cluster.wait(job)["JobState"]
    return state, Path(f"two-processes-{job}.log").read_text()


@pytest.mark.long
def test_a_process_that_dies_ends_the_others_and_the_job():
    state, log = job_of_two(HERE / "one_dies.py", JAX_PLATFORMS="cpu")
    assert state == "FAILED"
    assert "0: step 1 is done" in log and "step 2" not in log  # said at once, not lost with the process


@pytest.mark.long
def test_a_python_without_jax_is_named_and_nothing_is_started(tmp_path: Path):
    (tmp_path / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n')
    (tmp_path / "python").chmod(0o755)
    state, log = job_of_two(CH10 / "hello.py", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert (state, log) == ("FAILED", f"{tmp_path}/python has no JAX: activate before sbatch\n")


@pytest.mark.long
def test_a_proxy_does_not_stop_the_start():
    assert job_of_two(CH10 / "hello.py", http_proxy="http://127.0.0.1:9")[0] == "COMPLETED"


@pytest.mark.long
def test_when_slurm_is_down_its_commands_say_so_and_end():
    needs("Slurm")
    with slurm.cluster(nodes=1) as cluster:
        cluster.run("pkill", "-x", "slurmctld")
        assert until(lambda: cluster.run("scontrol", "ping").returncode)
        for command in (["srun", "hostname"], ["sbatch", "--wrap=hostname"]):
            done = cluster.run(*command, limit=300)
            assert done.returncode and "Unable to contact slurm controller" in done.stderr


@pytest.mark.long
@pytest.mark.parametrize("version", [4, 5])
def test_mpirun_without_slots_says_so_and_starts_nothing(version: int, request: pytest.FixtureRequest):
    if version == 4:
        needs("Open MPI 4")
    prefix = request.getfixturevalue("open_mpi_5") if version == 5 else None
    done = launchers.with_mpi(["mpirun", "-n", "9999", "hostname"], prefix, crowd=False)
    assert done.returncode and "There are not enough slots available" in done.stderr
    assert socket.gethostname() not in done.stdout


SAYS = "import json, os, socket; print(json.dumps([socket.gethostname(), dict(os.environ)]))"


@pytest.mark.long
def test_what_mpirun_leaves_inside_of_a_slurm_job(open_mpi_5: Path, tmp_path: Path):
    """On the first host the batch script's variables; on the other those of a helper that srun started alone."""
    needs("Slurm")
    (tmp_path / "says.py").write_text(SAYS)
    job_text = "#!/bin/sh\nmpirun -n 4 --map-by ppr:2:node python -u says.py\n"
    (tmp_path / "job.sbatch").write_text(job_text)
    env = launchers.environment(open_mpi_5 / "bin") | launchers._ROOT_MAY | launchers._CROWD
    with slurm.cluster(hosts=2) as cluster:
        job = cluster.submit("--nodes=2", "--ntasks-per-node=2", "--output=log", "job.sbatch", env=env)
        end = cluster.wait(job, seconds=launchers.LIMIT)
    log = (tmp_path / "log").read_text()
    assert end["JobState"] == "COMPLETED", log
    said = [json.loads(line) for line in log.splitlines() if line.startswith("[")]
    assert sorted(host for host, _ in said) == ["host0"] * 2 + ["host1"] * 2
    for host, found in said:
        made_up = detect.MADE_UP["the batch script"] if host == "host0" else detect.HELPER
        assert {name for name in detect.MADE_UP["srun"] if name in found} == set(made_up)
        assert found["SLURM_PROCID"] == found["SLURM_LOCALID"] == "0"
        assert found["OMPI_COMM_WORLD_SIZE"] == "4" and arguments.OPEN_MPI_4 not in found
        assert arguments.launcher(found) == "mpi4py"
        if host == "host1":
            assert (found["SLURM_NTASKS"], found["SLURM_STEP_NODELIST"]) == ("1", "host1")
