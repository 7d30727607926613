"""Cache the results of slow functions of texts from one build to the next, because most pages do not change."""

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
    """Cache a function of texts, as functools.cache does, but with the results of the last build, too."""

    @functools.wraps(function)
    def asked(*args: Any) -> Any:
        key = hashlib.sha256(repr((function.__qualname__, args)).encode("utf-8", "surrogatepass")).digest()
        if key not in _now:
            _now[key] = _before[key] if key in _before else function(*args)
        return _now[key]

    return asked  # type: ignore[return-value]


def load(*paths: Path) -> None:
    """Load the results that `save` wrote; load nothing if they come from different code or are damaged."""
    _before.clear()
    for path in paths:
        with contextlib.suppress(Exception):  # pickle may raise any exception
            of, results = pickle.loads(path.read_bytes())
            _before.update(results if of == _of() else {})


def save(path: Path) -> None:
    """Write the results of this build. If the disk is full or read-only, nothing is written and nothing raised."""
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
    """Return a hash of the code and words that the results depend on."""
    versions = [metadata.version(p) for p in ("jupytext", "markdown-it-py", "mdit-py-plugins", "opencc")]
    files = [*sorted((ROOT / "publish").rglob("*.py")), ROOT / "book" / "terms.toml"]
    parts = [sys.version, *versions, *(file.read_text("utf-8") for file in files)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
