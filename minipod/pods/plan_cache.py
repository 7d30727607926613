"""Cache the plans that were made on this machine.

A plan is valid as long as everything that it depends on is unchanged: the arguments of the command, the environment,
and the size and modification time of every file that the program imported or read. The cache is read before JAX is
imported, so a cached plan takes only a moment.
"""

import contextlib
import hashlib
import json
import os
import sys
import sysconfig
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

COUNT = 200  # plans in the cache
# Variables that differ from shell to shell and from call to call, and do not change a program.
_PASSING = {"_", "PWD", "OLDPWD", "SHLVL", "COLUMNS", "LINES", "TERM", "WINDOWID", "PYTEST_CURRENT_TEST"}
_OWN = Path(__file__).parents[1]  # minipod itself, which reads the compiled text


def folder() -> Path:
    """Return `$XDG_CACHE_HOME/minipod/plans`; without that variable, `~/.cache/minipod/plans`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "minipod" / "plans"


def key(*arguments: Any) -> str:
    """Return the name of a plan in the cache: a hash of the command's arguments and the environment."""
    environment = {name: value for name, value in os.environ.items() if name not in _PASSING}
    text = json.dumps([sys.executable, *arguments, environment], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def find(name: str) -> dict[str, Any] | None:
    """Return the entry that `keep` stored, with its date as "when"; None if missing or if a file has changed."""
    try:
        entry = json.loads((folder() / f"{name}.json").read_text("utf-8"))
        same = all(_stamp(Path(path)) == stamp for path, stamp in entry["made_of"].items())
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return entry if same else None


def keep(name: str, files: list[str], entry: dict[str, Any]) -> None:
    """Store a plan that depends on `files`, if possible, and delete all but the newest `COUNT` plans of the cache."""
    minipod = [str(path) for path in _OWN.rglob("*.py")]
    made_of = {path: stamp for path in sorted({*files, *minipod}) if (stamp := _stamp(Path(path)))}
    when = datetime.now().isoformat(" ", "minutes")
    with contextlib.suppress(OSError):
        folder().mkdir(parents=True, exist_ok=True)
        half = folder() / f"{name}.{os.getpid()}"
        half.write_text(json.dumps({**entry, "made_of": made_of, "when": when}), "utf-8")
        half.replace(folder() / f"{name}.json")
        for old in sorted(folder().glob("*.json"), key=lambda path: -path.stat().st_mtime)[COUNT:]:
            old.unlink(missing_ok=True)


@contextlib.contextmanager
def reading(files: list[str]) -> Iterator[None]:
    """When the block ends, add to `files` the files that this process has imported and those read in the block."""
    opened: set[str] = set()
    listening = [True]

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        if listening and event == "open" and isinstance(arguments[0], str) and arguments[1] in ("r", "rb", None):
            opened.add(arguments[0])

    sys.addaudithook(hear)
    try:
        yield
    finally:
        listening.clear()
        # Not by getattr: a module that loads its parts on first use would load one, or fail
        named = (getattr(module, "__dict__", {}).get("__file__") for module in [*sys.modules.values()])
        modules = {path for path in named if isinstance(path, str)}
        library = Path(sysconfig.get_path("stdlib"))
        paths = {Path(path).absolute() for path in opened | modules}
        files += [str(path) for path in paths if path.is_file() and _matters(path, library)]


def _matters(path: Path, library: Path) -> bool:
    installed = "site-packages" in path.parts
    return path.parts[1:2] not in (("proc",), ("dev",), ("sys",)) and (installed or library not in path.parents)


def _stamp(path: Path) -> list[int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return [status.st_size, status.st_mtime_ns]
