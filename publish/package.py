"""Build the project's two packages, next to the pages, where the notebooks' first cell finds them.

The book's package has what learners need: lessons, checks, solutions. It depends on minipod, which has a pyproject.toml
of its own. Both are built by setuptools from a copy, without a network, and only if one of their files has changed.
"""

import functools
import hashlib
import importlib.metadata
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from grader.home import BOOK
from minipod import distribution
from publish import files
from publish.page import ROOT

FOLDERS = ("grader", "lessons", "minipod", "solutions", "LICENSES")
FILES = ("pyproject.toml", "README.md", "LICENSE", "MANIFEST.in")
_BUILD = "import sys, setuptools.build_meta as backend; backend.build_wheel(sys.argv[1])"
_LEFT_OUT = shutil.ignore_patterns("__pycache__", ".*", "*.egg-info", "build")


@functools.cache
def version() -> str:
    """Return the book's own version; "unknown" in a folder that pip does not know."""
    try:
        return importlib.metadata.version(BOOK)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def filename() -> str:
    """Return the file name of the book's package: pip requires the version in it."""
    return f"{BOOK.replace('-', '_')}-{version()}-py3-none-any.whl"


def minipods() -> str:
    """Return the file name of minipod's package."""
    return f"{distribution.NAME}-{distribution.version()}-py3-none-any.whl"


def filenames() -> tuple[str, str]:
    """Return both file names: the book's, then minipod's."""
    return filename(), minipods()


def write(build: Path, root: Path = ROOT) -> bool:
    """Put both packages into `BUILD/html`, unless they are up to date; return whether they were built.

    Raises OSError if they cannot be written, RuntimeError if one cannot be built.
    """
    if not (root / "pyproject.toml").exists():
        return False  # pages without a project
    wheels, stamp = [build / "html" / name for name in filenames()], build / "html" / ".package"
    wanted = _sum(root)
    if all(path.exists() for path in wheels) and files.read(stamp) == wanted:
        return False
    with tempfile.TemporaryDirectory(prefix="package-") as scratch:
        copy, made = Path(scratch, "project"), Path(scratch, "made")
        for name in FOLDERS:
            shutil.copytree(root / name, copy / name, ignore=_LEFT_OUT)
        for name in FILES:
            shutil.copy(root / name, copy)
        made.mkdir()
        for folder in (copy / "minipod", copy):
            _build(folder, made)
        if lacking := [path.name for path in wheels if not (made / path.name).exists()]:
            raise RuntimeError(f"there is no {lacking[0]} among {sorted(os.listdir(made))}: run `make env`")
        for path in wheels:
            for old in path.parent.glob(f"{path.name.partition('-')[0]}-*.whl"):
                old.unlink(missing_ok=True)
            files.write_bytes(path, (made / path.name).read_bytes())
    files.write(stamp, wanted)
    return True


def _build(folder: Path, made: Path) -> None:
    quiet = {**os.environ, "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-c", _BUILD, str(made)]
    done = subprocess.run(command, cwd=folder, env=quiet, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip() or "no reason given").splitlines()[-1]
        raise RuntimeError(f"the package could not be built: {reason}")


def _sum(root: Path) -> str:
    """Hash all files from which the packages are built."""
    paths = [path for name in FOLDERS for path in (root / name).rglob("*") if path.is_file()]
    parts = ((path, path.relative_to(root).parts) for path in paths)
    paths = [
        p for p, of in parts if not any(part.startswith((".", "__pycache__")) or ".egg-info" in part for part in of)
    ]
    total = hashlib.sha256()
    for path in sorted([*paths, *(root / name for name in FILES)]):
        total.update(f"\0{path.relative_to(root)}\0".encode() + path.read_bytes())
    return total.hexdigest()
