"""The project as a package that pip installs, beside the pages: what the notebooks' first cell fetches.

Built by setuptools from a copy, without a network, and only when one of its files has changed.
"""

import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from minipod import distribution
from publish import files
from publish.page import ROOT

FOLDERS = ("grader", "lessons", "minipod", "solutions", "LICENSES")
FILES = ("pyproject.toml", "README.md", "LICENSE", "MANIFEST.in")
_BUILD = "import sys, setuptools.build_meta as backend; backend.build_wheel(sys.argv[1])"
_LEFT_OUT = shutil.ignore_patterns("__pycache__", ".*", "others")


@functools.cache
def filename() -> str:
    """Its name: pip wants the version in it."""
    return f"one_program_many_devices-{distribution.version()}-py3-none-any.whl"


def write(build: Path, root: Path = ROOT) -> bool:
    """Put the package into `BUILD/html`, unless it is there as it would be built. Whether it was built.

    OSError where it cannot be written, RuntimeError where it cannot be built.
    """
    if not (root / "pyproject.toml").exists():
        return False  # pages without a project
    package, stamp = build / "html" / filename(), build / "html" / ".package"
    wanted = _sum(root)
    if package.exists() and files.read(stamp) == wanted:
        return False
    with tempfile.TemporaryDirectory(prefix="package-") as scratch:
        copy, made = Path(scratch, "project"), Path(scratch, "made")
        for name in FOLDERS:
            shutil.copytree(root / name, copy / name, ignore=_LEFT_OUT)
        for name in FILES:
            shutil.copy(root / name, copy)
        made.mkdir()
        quiet = {**os.environ, "PYTHONWARNINGS": "ignore"}
        command = [sys.executable, "-c", _BUILD, str(made)]
        done = subprocess.run(command, cwd=copy, env=quiet, capture_output=True, text=True, check=False)
        if done.returncode:
            words = (done.stderr.strip() or "no reason given").splitlines()[-1]
            raise RuntimeError(f"the package could not be built: {words}")
        if not (made / filename()).exists():
            raise RuntimeError(f"the package is called {os.listdir(made)[0]}, not {filename()}: run `make env`")
        for old in package.parent.glob("one_program_many_devices-*.whl"):
            old.unlink(missing_ok=True)
        files.write_bytes(package, (made / filename()).read_bytes())
    files.write(stamp, wanted)
    return True


def _sum(root: Path) -> str:
    """A hash of all that it is built from."""
    paths = [path for name in FOLDERS for path in (root / name).rglob("*") if path.is_file()]
    paths = [p for p in paths if not any(part.startswith((".", "__pycache__")) for part in p.relative_to(root).parts)]
    found = hashlib.sha256()
    for path in sorted([*paths, *(root / name for name in FILES)]):
        found.update(f"\0{path.relative_to(root)}\0".encode() + path.read_bytes())
    return found.hexdigest()
