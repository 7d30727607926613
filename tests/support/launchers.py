"""The launchers that clusters have, for the tests: a command in two processes under Open MPI's, and under Slurm's."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from minipod.processes import environment
from publish.recorders import slurm

ROOT = Path(__file__).resolve().parents[2]
NO_MPI = None if shutil.which("mpirun") else "mpirun is not installed: apt install openmpi-bin"
NO_SLURM = slurm.why_not()


def clean(**more: str) -> dict[str, str]:
    """This environment without what other launchers and pytest say in it."""
    left_out = ("MINIPOD_", "PYTEST_", "LC_", "LANG", "SLURM_", "OMPI_")
    env = {name: value for name, value in environment.clean().items() if not name.startswith(left_out)}
    return env | {"JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT), **more}


def mpirun(*commands: list[str], cwd: Path, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """One command in two processes, or one command for each process."""
    start = ["mpirun", "--oversubscribe", "--timeout", "240", *["--allow-run-as-root"] * (os.geteuid() == 0)]
    each = [["-n", "2", *commands[0]]] if len(commands) == 1 else [["-n", "1", *command] for command in commands]
    parts = [part for n, one in enumerate(each) for part in [*[":"] * bool(n), *one]]
    return subprocess.run(
        [*start, *parts], cwd=cwd, env=env or clean(), capture_output=True, text=True, stdin=subprocess.DEVNULL
    )


def srun(*command: str, env: Mapping[str, str] | None = None, nodes: int = 2) -> subprocess.CompletedProcess[str]:
    """A command in two processes, in the current folder, on two nodes of a Slurm that is started for it."""
    with slurm.cluster(nodes=nodes) as cluster:
        return cluster.run("srun", "--ntasks=2", "--cpu-bind=none", *command, env=env or clean(), limit=240)


PYTHON = sys.executable
