"""Lessons as their pages' cells import them; and a launcher that several tests start."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

LESSONS = Path(__file__).resolve().parents[2] / "lessons"


@pytest.fixture
def lesson(monkeypatch: pytest.MonkeyPatch):
    """lesson(folder, *names): its modules, which import each other by name; they are gone afterwards."""
    before = set(sys.modules)

    def load(folder: str, *names: str):
        monkeypatch.syspath_prepend(str(LESSONS / folder))
        for name in names:  # a chapter before may have left a module of that name
            if name in sys.modules and not Path(sys.modules[name].__file__ or "").is_relative_to(LESSONS / folder):
                monkeypatch.delitem(sys.modules, name)
        found = [importlib.import_module(name) for name in names]
        return found[0] if len(found) == 1 else found

    yield load
    for name in set(sys.modules) - before:
        if "." not in name and Path(getattr(sys.modules[name], "__file__", None) or "/").is_relative_to(LESSONS):
            del sys.modules[name]


@pytest.fixture(scope="session")
def open_mpi_5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Installed in an environment of its own, beside the system's Open MPI 4."""
    from publish.recorders import launchers

    try:
        return launchers.install_open_mpi_5(tmp_path_factory.mktemp("open_mpi_5"))
    except subprocess.CalledProcessError as error:
        pytest.skip(f"pip cannot install Open MPI 5 here: {error.stderr.decode().strip().splitlines()[-1]}")
