"""Projects that a test may spoil: a copy of this one, and a tiny one with the same Makefile that asks no network."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from grader.exercise.progress import all_exercises

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 600  # seconds: that long is hung, whatever else the machine does
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
requires-python = ">=3.11"
"""
# Builds the package by hand: pip gets by without setuptools, and so without a network.
_BACKEND = """
import os, time, zipfile
INFO = "tiny-1.dist-info"

def build_editable(folder, config_settings=None, metadata_directory=None):
    while os.path.exists("wait"):
        open("building", "w").close()
        time.sleep(0.05)
    name = "tiny-1-py3-none-any.whl"
    files = {
        "tiny.pth": os.getcwd(),
        f"{INFO}/METADATA": f"Metadata-Version: 2.1\\nName: tiny\\nVersion: 1\\n{open('requires').read()}",
        f"{INFO}/WHEEL": "Wheel-Version: 1.0\\nGenerator: tiny\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
    }
    files[f"{INFO}/RECORD"] = "".join(f"{path},,\\n" for path in [*files, f"{INFO}/RECORD"])
    with zipfile.ZipFile(os.path.join(folder, name), "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
    return name
"""


def load(script: str) -> Any:
    """One of the project's scripts, as a module."""
    found = importlib.util.spec_from_file_location(Path(script).stem, ROOT / script)
    assert found and found.loader
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def exercises(*lessons: str) -> int:
    """How many exercises these lessons have, or all."""
    there = all_exercises(ROOT / "lessons")
    return sum(not lessons or exercise.startswith(tuple(f"{lesson}." for lesson in lessons)) for exercise in there)


def copy(to: Path) -> Path:
    """A copy of the project as a checkout would have it."""
    return Path(shutil.copytree(ROOT, to, ignore=_LEFT_OUT))


def tiny(folder: Path) -> Path:
    """A project of one empty package, made by our Makefile and our `.ci/env.py`."""
    (folder / ".ci").mkdir(parents=True)
    shutil.copy(ROOT / ".ci/env.py", folder / ".ci")
    shutil.copy(ROOT / "Makefile", folder)
    (folder / "pyproject.toml").write_text(_PYPROJECT)
    (folder / "constraints.txt").write_text("")
    (folder / "backend.py").write_text(_BACKEND)
    (folder / "requires").write_text("")
    return folder


def make(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `make` in a folder, with no package index."""
    kept = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.run(command(*arguments), cwd=folder, env=environment(**variables), timeout=LIMIT, **kept)


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """The same in the background, a line of its output readable as it comes."""
    kept = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(command(*arguments), cwd=folder, env=environment(), start_new_session=True, **kept)


def command(*arguments: str) -> list[str]:
    """`make` with this Python, unless another is named."""
    given = any(argument.startswith("PYTHON=") for argument in arguments)
    return ["make", *arguments, *([] if given else [f"PYTHON={sys.executable}"])]


def environment(**variables: str) -> dict[str, str]:
    """This one without pip's settings and without what an outer make left."""
    own = {
        k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "MAKE", "PYTHON", "MFLAGS", "VENV", "WORKERS"))
    }
    return own | {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1"} | variables
