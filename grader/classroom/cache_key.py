"""What is kept of an earlier run holds only as long as all that it depends on is the same."""

import functools
import hashlib
import importlib.metadata
import platform
from collections.abc import Iterable
from pathlib import Path

_GRADER = Path(__file__).parents[1]
_OURS = (*_GRADER.rglob("*.py"), *_GRADER.glob("*.toml"), *(_GRADER.parent / "minipod").rglob("*.py"))
_PACKAGES = ("jax", "jaxlib", "numpy")


def cache_key(*about: object, files: Iterable[Path] = ()) -> str:
    """40 hex digits of these values (by their repr), these files, and what judges: grader, minipod, JAX, Python."""
    found = hashlib.sha256(_judge() + repr(about).encode(errors="replace"))
    for path in files:
        found.update(_named(path))
    return found.hexdigest()[:40]


@functools.cache
def _judge() -> bytes:
    versions = [platform.python_version(), *map(importlib.metadata.version, _PACKAGES)]
    return repr(versions).encode() + b"".join(map(_named, sorted(_OURS)))


def _named(path: Path) -> bytes:
    """The name of a file and a digest of what is in it, or of why that cannot be read."""
    try:
        content = path.read_bytes()
    except OSError as error:
        content = str(error.strerror).encode()
    return path.name.encode(errors="replace") + b"\0" + hashlib.sha256(content).digest()
