"""Projects that a test may spoil: a copy of this one, and a tiny one with the same Makefile that asks no network."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from grader.exercise.progress import all_exercises

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 600  # seconds: that long is hung, whatever else the machine does
_MAKE = ["make", f"PYTHON={sys.executable}"]  # where another Python is named after it, that one counts
_PIPES = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
_LEFT_OUT = shutil.ignore_patterns(
    *(".git", ".venv*", "_build", "answers", ".cache", "__pycache__", "*.egg-info", ".*_cache", "build", "dist")
)

_PYPROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "tiny"
version = "1"
optional-dependencies.test = []
"""
# Builds the package by hand, and so without a network; as long as there is a file `wait`, it has not finished.
_BACKEND = """
import os, time, zipfile

def build_editable(folder, config_settings=None, metadata_directory=None):
    while os.path.exists("wait"):
        open("building", "w").close()
        time.sleep(0.05)
    name = os.path.basename(os.getcwd())
    info = f"{name}-1.dist-info"
    wheel = f"{name}-1-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, wheel), "w") as archive:
        archive.writestr(f"{name}.pth", os.getcwd())
        named = f"Metadata-Version: 2.1\\nName: {name}\\nVersion: 1\\nProvides-Extra: test\\n"
        archive.writestr(f"{info}/METADATA", named)
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        archive.writestr(f"{info}/RECORD", "".join(f"{path},,\\n" for path in archive.namelist()))
    return wheel
"""


def exercises(*lessons: str) -> int:
    """How many exercises these lessons have, or all."""
    there = all_exercises(ROOT / "lessons")
    return sum(not lessons or exercise.startswith(tuple(f"{lesson}." for lesson in lessons)) for exercise in there)


def copy(to: Path) -> Path:
    """A copy of the project as a checkout would have it."""
    return Path(shutil.copytree(ROOT, to, ignore=_LEFT_OUT))


def tiny(parent: Path) -> Path:
    """A project of two empty packages, `tiny` and `minipod`, with our Makefile and `.ci/env`: no network is asked."""
    folder = parent / "tiny"
    for package in (folder, folder / "minipod"):
        package.mkdir(parents=True)
        (package / "pyproject.toml").write_text(_PYPROJECT.replace('"tiny"', f'"{package.name}"'))
        (package / "backend.py").write_text(_BACKEND)
    (folder / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/env", folder / ".ci")
    shutil.copy(ROOT / "Makefile", folder)
    (folder / "constraints.txt").write_text("")
    return folder


def make(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `make` in a folder, with no package index."""
    return subprocess.run([*_MAKE, *arguments], cwd=folder, env=environment(**variables), timeout=LIMIT, **_PIPES)


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """The same in the background, a line of its output readable as it comes."""
    return subprocess.Popen([*_MAKE, *arguments], cwd=folder, env=environment(), start_new_session=True, **_PIPES)


def environment(**variables: str) -> dict[str, str]:
    """This one with our uv and no package index, and without what an outer make left."""
    ours = ("PIP_", "UV_", "MAKE", "PYTHON", "MFLAGS", "VENV", "WORKERS")
    own = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    path = f"{Path(sys.executable).parent}:{own['PATH']}"
    return own | {"PATH": path, "PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "UV_OFFLINE": "1"} | variables
