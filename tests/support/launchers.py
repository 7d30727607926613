"""The launchers that clusters have, for the tests: whether there is Open MPI's, and the environment to start it in."""

import shutil
from pathlib import Path

from minipod.processes import environment

ROOT = Path(__file__).resolve().parents[2]
NO_MPI = None if shutil.which("mpirun") else "mpirun is not installed: apt install openmpi-bin"


def clean(**more: str) -> dict[str, str]:
    """This environment without what other launchers and pytest say in it."""
    left_out = ("MINIPOD_", "PYTEST_", "LC_", "LANG", "SLURM_", "OMPI_")
    env = {name: value for name, value in environment.clean().items() if not name.startswith(left_out)}
    return env | {"JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT), **more}
