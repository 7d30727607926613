"""What slow functions of a text have given, kept from one build to the next: most pages are as they were."""

import contextlib
import functools
import hashlib
import os
import pickle
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).resolve().parents[1]
F = TypeVar("F", bound=Callable[..., Any])

_before: dict[bytes, Any] = {}
_now: dict[bytes, Any] = {}


def kept(function: F) -> F:
    """As functools.cache, for a function of texts alone; what it gave in the build before counts as well."""

    @functools.wraps(function)
    def asked(*args: Any) -> Any:
        key = hashlib.sha256(repr((function.__qualname__, args)).encode("utf-8", "surrogatepass")).digest()
        if key not in _now:
            _now[key] = _before[key] if key in _before else function(*args)
        return _now[key]

    return asked  # type: ignore[return-value]


def load(*paths: Path) -> None:
    """Begin with what `save` wrote there; with nothing, where it is of other code or is damaged."""
    _before.clear()
    for path in paths:
        with contextlib.suppress(Exception):  # pickle raises what it likes
            of, results = pickle.loads(path.read_bytes())
            _before.update(results if of == _of() else {})


def save(path: Path) -> None:
    """Keep what was asked for. A disk that is full, or not ours, keeps nothing."""
    if _now.keys() <= _before.keys():
        return
    whole = path.with_name(f".{path.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        try:
            whole.write_bytes(pickle.dumps((_of(), _now)))
            whole.replace(path)
        finally:
            whole.unlink(missing_ok=True)


@functools.cache
def _of() -> str:
    """A sum of the code and the words that such a function is made of."""
    versions = [metadata.version(p) for p in ("jupytext", "markdown-it-py", "mdit-py-plugins", "opencc")]
    files = [*sorted((ROOT / "publish").rglob("*.py")), ROOT / "book" / "terms.toml"]
    parts = [sys.version, *versions, *(file.read_text("utf-8") for file in files)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
