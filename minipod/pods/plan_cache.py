"""Plans that were made on this machine, kept by what they were made of, and given again in a moment.

It is given again as long as what it was made of is the same: the words of the command, the environment, and every file
that the program has imported or read, by size and time of change. It is looked for before JAX is imported.
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

COUNT = 200  # plans that are kept
# What differs from shell to shell and from call to call, and says nothing of a program.
_PASSING = {"_", "PWD", "OLDPWD", "SHLVL", "COLUMNS", "LINES", "TERM", "WINDOWID", "PYTEST_CURRENT_TEST"}
_OWN = Path(__file__).parents[1]  # what reads a compiled program's text is ours


def folder() -> Path:
    """`$XDG_CACHE_HOME/minipod/plans`, else that of `~/.cache`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "minipod" / "plans"


def key(*words: Any) -> str:
    """What a plan is found by: the words of the command, and the environment."""
    environment = {name: value for name, value in os.environ.items() if name not in _PASSING}
    said = json.dumps([sys.executable, *words, environment], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()[:24]


def find(name: str) -> dict[str, Any] | None:
    """`{"facts": …, "when": …, …}` as it was kept; None where there is none, or what it was made of has changed."""
    try:
        entry = json.loads((folder() / f"{name}.json").read_text("utf-8"))
        same = all(_stamp(Path(path)) == stamp for path, stamp in entry["made_of"].items())
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return entry if same else None


def keep(name: str, files: list[str], entry: dict[str, Any]) -> None:
    """Keep a plan that was made of these files; where that cannot be written, it is not kept."""
    own = [str(path) for path in _OWN.rglob("*.py")]
    made_of = {path: stamp for path in sorted({*files, *own}) if (stamp := _stamp(Path(path)))}
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
    """Fill a list, at the end, with the files that this process has imported, and those that it has read meanwhile."""
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
        # not asked for with getattr: a module that loads its parts when they are asked for would load one, or fail
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
        found = path.stat()
    except OSError:
        return None
    return [found.st_size, found.st_mtime_ns]
