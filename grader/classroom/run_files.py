"""Manage the private files of one run: compiled programs, Python's bytecode, the report, the seed.

A submission of an earlier run may have left files in a cache, and these are never read: bytecode and compiled programs
go to a new folder, which is removed at the end.
"""

import contextlib
import hashlib
import os
import random
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from grader.files import write_private

_OPERATION = re.compile(r"jit_([a-z_0-9]+)-[0-9a-f]+-cache")
OPEN = "open"  # says that submissions could write here
_made: list[Path] = []


class RunFiles:
    """Folders that only this run uses.

    pycache     Python's bytecode, which the sandboxes read, too
    compiled    programs that this process compiles
    operations  compiled single operations of JAX and NumPy; the sandboxes find only these, so no solution is among them
    """

    def __init__(self, root: Path) -> None:
        folder = Path(tempfile.mkdtemp(prefix="class-"))
        _made.append(folder)
        self.pycache = Path(sys.pycache_prefix) if sys.pycache_prefix else folder / "pycache"
        if sys.pycache_prefix:  # made by lessons/__main__.py, before anything was imported
            _made.append(self.pycache)
        sys.pycache_prefix = str(self.pycache)
        self.compiled, self.operations = folder / "compiled", folder / "operations"
        for made in (self.pycache, self.operations, self.compiled):
            made.mkdir(exist_ok=True)
            made.chmod(0o755)  # a room has another user; what lies above is ours alone
        self._kept = root / ".cache" / "class"
        if (self._kept / OPEN).exists():  # a run without rooms was killed
            shutil.rmtree(self._kept, ignore_errors=True)
        _copy_operations(self._kept / "operations", self.operations)

    def share_operations(self) -> None:
        """Give the sandboxes, including those of later runs, the single operations that this process has compiled."""
        _copy_operations(self.compiled, self.operations)
        with contextlib.suppress(OSError):
            kept = self._kept / "operations"
            kept.mkdir(mode=0o700, parents=True, exist_ok=True)
            _copy_operations(self.compiled, kept)

    @contextlib.contextmanager
    def without_walls(self) -> Iterator[None]:
        """Wrap a run in which submissions can write to .cache/class: afterwards nothing there is used again."""
        with contextlib.suppress(OSError):
            self._kept.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self._kept / OPEN).touch()
        try:
            yield
        finally:
            shutil.rmtree(self._kept, ignore_errors=True)


def _copy_operations(source: Path, to: Path) -> None:
    import jax

    known = {*dir(jax.numpy), *dir(jax.lax), "true_divide", "_where", "_reduce_sum", "_mean", "_pad", "_identity_fn"}
    known |= {"_multi_slice", "_reduce_max", "_reduce_min", "_var", "_uniform", "_normal", "_threefry_split"}
    with contextlib.suppress(OSError):
        for entry in os.scandir(source):
            name = _OPERATION.fullmatch(entry.name)
            if name and name[1] in known and entry.is_file(follow_symlinks=False) and not (to / entry.name).exists():
                shutil.copyfile(entry.path, to / entry.name)


def remove() -> None:
    """Remove the folders that were made."""
    while _made:
        shutil.rmtree(_made.pop(), ignore_errors=True)


def seed(root: Path, folder: Path) -> int:
    """Return the seed of these submissions: drawn once, so that later submissions get the same inputs."""
    name = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]
    path = root / ".cache" / "class" / f"seed-{name}"
    with contextlib.suppress(OSError, ValueError):
        return int(path.read_text(encoding="ascii"))
    drawn = random.SystemRandom().randrange(10**6)
    fresh = path.with_name(f"{path.name}-{drawn}")
    with contextlib.suppress(OSError, ValueError):
        write_private(fresh, f"{drawn}\n".encode())
        try:
            os.link(fresh, path)
            fresh.unlink()
        except FileExistsError:  # another part of this class was quicker
            fresh.unlink()
        except OSError:  # a file system without links
            os.replace(fresh, path)
        return int(path.read_text(encoding="ascii"))
    return drawn
