"""What several of these files start."""

import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def open_mpi_5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Installed in an environment of its own, beside the system's Open MPI 4."""
    from publish.recorders import launchers

    try:
        return launchers.install_open_mpi_5(tmp_path_factory.mktemp("open_mpi_5"))
    except subprocess.CalledProcessError as error:
        pytest.skip(f"pip cannot install Open MPI 5 here: {error.stderr.decode().strip().splitlines()[-1]}")
