"""Make the environment, or see that it is whole: what each target of the Makefile needs first.

python3 .ci/env.py .venv            make it, unless it is whole
python3 .ci/env.py --whole .venv    only look: exit status 1 if there is anything to do

Standard library only, for it runs in the Python that the Makefile found, and the same under every make.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import deque
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[1]
OLDEST = (3, 11)
PINNED = os.environ.get("PINS") != "no"
LAST = 25  # lines of a failed installation that are shown
LOOK = "import sys, sysconfig; print(*sys.version_info[:2], sys.prefix, sysconfig.get_path('purelib'), sep='\\n')"

_NAME = re.compile(r"[\w.-]+")
_PIN = re.compile(r"^([\w.-]+)==(\S+)", re.M)
_OFFLINE = re.compile(r"Retry\(total=0\b|Max retries exceeded")  # the last attempt of several
_PROXY = ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "http_proxy", "HTTP_PROXY")
_SHOWN = re.compile(r"(Collecting|Downloading|Installing|Processing) (\S+)(?: (\([\d.]+ [kMG]B\)))?")


class Trouble(Exception):
    """What went wrong, in words for whoever typed the command."""


def main(folder: Path) -> None:
    """Return when the environment in `folder` is whole; it is made, or made again, where it is not."""
    with alone():
        fault = unusable(folder)
        if not fault and is_ready(folder):
            return  # whoever we waited for has made it
        if not fault and not (folder / ".ready").exists() and is_complete(folder):
            return note(folder)  # made by hand, or by uv, and nothing is missing
        (folder / ".ready").unlink(missing_ok=True)
        if fault:
            print(f"{fault}: making it again")
        else:
            print(f"making the environment in {shown(folder)} (a few minutes the first time)", flush=True)
        make(folder, again=bool(fault))


def make(folder: Path, again: bool) -> None:
    """Install what pyproject.toml asks for, at the versions of constraints.txt or the newest; `.ready` comes last."""
    if again or not (folder / "pyvenv.cfg").exists():
        _do([sys.executable, "-I", "-m", "venv", *["--clear"] * again, str(folder)], "Python")
    who, install = installer(folder)
    scratch = folder / ".tmp"  # on the disk that the packages go to, however small the system's is
    scratch.mkdir(exist_ok=True)
    try:
        if who == "pip":
            _do([*install, "--upgrade", "pip"], who, scratch, quiet=True)
        own = ["--editable", "./minipod"] if (ROOT / "minipod").is_dir() else []
        newest = ["--upgrade", *(["--upgrade-strategy", "eager"] if who == "pip" else [])]
        versions = ["--constraint", "constraints.txt"] if PINNED else newest
        _do([*install, *versions, *own, "--editable", ".[test]"], who, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    # As pip does for what it installs: where PYTHONDONTWRITEBYTECODE is set, each check would compile them anew, 0.3 s.
    for ours in filter(Path.is_dir, (ROOT / name for name in ("grader", "lessons", "minipod", "solutions"))):
        subprocess.run([folder / "bin/python", "-I", "-m", "compileall", "-q", ours], capture_output=True)
    note(folder)


def note(folder: Path) -> None:
    """Write `.ready`: all is there."""
    fresh = folder / ".ready.new"
    fresh.write_text(json.dumps({"from": wanted(), "packages": sorted(packages(folder))}) + "\n")
    os.replace(fresh, folder / ".ready")


def installer(folder: Path) -> tuple[str, list[str]]:
    """Who installs, and the command: pip; where there is none, as in what uv makes, uv; else pip is added.

    Raises Trouble where it cannot be added.
    """
    python = str(folder / "bin/python")
    has_pip = subprocess.run([python, "-I", "-c", "import pip"], capture_output=True).returncode == 0
    if not has_pip and (uv := shutil.which("uv")):
        return "uv", [uv, "pip", "install", "--python", python]
    if not has_pip:
        _do([python, "-I", "-m", "ensurepip"], "Python")
    return "pip", [python, "-I", "-m", "pip", "--disable-pip-version-check", "--no-input", "install"]


def is_complete(folder: Path) -> bool:
    """Whether an environment that was not made here has this project, editable, and all that its tests need, as pinned.

    What a requirement says of other systems and Pythons is left to whoever installed it: such a package may be missing.
    """
    said = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    pins: dict[str, set[str]] = {}  # of some packages one for each Python
    for pinned, version in _PIN.findall((ROOT / "constraints.txt").read_text("utf-8")) if PINNED else ():
        pins.setdefault(_named(pinned), set()).add(version)
    there = {_named(info.parent.name.partition("-")[0]): info for info in _metadata(folder)}
    own = there.get(_named(said["name"]))
    if own is None or not _same(Path(_editable(own)), ROOT):
        return False
    declared = {_named(_NAME.match(r)[0]) for r in said.get("dependencies", [])}  # type: ignore[index]
    if not declared <= {name for name, _, _ in _requirements(own)} or _version(own) != said.get("version"):
        return False  # it was installed from another pyproject.toml
    todo, known = [(_named(said["name"]), "test"), (_named(said["name"]), "")], set[tuple[str, str]]()
    while todo:
        name, extra = one = todo.pop()
        if one in known:
            continue
        known.add(one)
        if (info := there.get(name)) is None or _version(info) not in pins.get(name, {_version(info)}):
            return False
        for other, extras, marker in _requirements(info):
            of = re.search(r"extra\s*==\s*[\"']([^\"']+)", marker)
            elsewhere = re.sub(r"\(?\s*extra\s*==\s*[\"'][^\"']+[\"']\s*\)?", "", marker).strip()
            if (of[1] if of else "") == extra and (other in there or not elsewhere):
                todo += [(other, ""), *((other, more) for more in extras)]
    return True


def _metadata(folder: Path) -> Iterator[Path]:
    yield from folder.glob("lib/python*/site-packages/*.dist-info/METADATA")


def _editable(info: Path) -> str:
    """Where an editable package lies; "" for another."""
    try:
        said = json.loads((info.parent / "direct_url.json").read_text())
    except (OSError, ValueError):
        return ""
    return unquote(urlsplit(said["url"]).path) if said.get("dir_info", {}).get("editable") else ""


def _requirements(info: Path) -> Iterator[tuple[str, list[str], str]]:
    """What a package needs: name, extras of that, and when."""
    head = info.read_text("utf-8", "replace").partition("\n\n")[0]
    for line in re.findall(r"^Requires-Dist: (.*)$", head, re.M):
        what, _, marker = line.partition(";")
        name = _NAME.match(what)
        extras = re.search(r"\[([^\]]*)\]", what)
        if name:
            yield _named(name[0]), re.split(r"\s*,\s*", extras[1].strip()) if extras else [], marker


def _named(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()


def _version(info: Path) -> str:
    return info.parent.name.removesuffix(".dist-info").rpartition("-")[2]


def wanted() -> str:
    """A sum of what the environment is made from; what pyproject.toml says to other tools is no part of it."""
    files = [ROOT / name for name in ("pyproject.toml", "minipod/pyproject.toml")]
    both = [tomllib.loads(file.read_text("utf-8")) for file in files if file.exists()]
    parts = [said.get(part) for said in both for part in ("build-system", "project")]
    parts += [said.get("tool", {}).get("setuptools") for said in both]
    parts.append((ROOT / "constraints.txt").read_text("utf-8") if PINNED else str(date.today()))  # or of which day
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def unusable(folder: Path) -> str | None:
    """Why an environment that is there has to be made again: moved, half deleted, its Python gone. None: it may stay.

    Raises Trouble for a folder that is something else: it is not ours to empty.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return None
    settings, name = folder / "pyvenv.cfg", shown(folder)
    if not settings.is_file():
        if folder.is_dir() and folder.name.startswith(".venv"):
            return f"{name} is not whole"
        raise Trouble(f"{name} is there and is not an environment: give another place, make VENV=…, or remove it.")
    made = re.search(r"^command = .* -m venv (?:--\S+ )*(.+)$", settings.read_text("utf-8", "replace"), re.M)
    if made and not _same(Path(made[1]), folder):
        return f"{name} was made in another place ({made[1]})"
    try:
        done = subprocess.run([folder / "bin/python", "-I", "-c", LOOK], capture_output=True, text=True, timeout=120)
        major, minor, prefix, library = done.stdout.splitlines()
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return f"the Python of {name} is gone"
    if (int(major), int(minor)) < OLDEST:
        return f"{name} has Python {major}.{minor}, and 3.11 or newer is needed"
    if not _same(Path(prefix), folder) or not Path(library).is_dir():
        return f"{name} is not whole: its packages are not those of Python {major}.{minor}"
    if lost := missing(folder):
        return f"{name} is not whole: {lost} is missing"
    return None


def is_ready(folder: Path) -> bool:
    """Whether the last installation ended well, from the pyproject.toml and constraints.txt that are here now."""
    return _noted(folder).get("from") == wanted()


def missing(folder: Path) -> str | None:
    """A file that a package says is its own, or a package that was there, and is not any more; None if all is there."""
    names: dict[str, set[str]] = {}
    for record in folder.glob("lib/python*/site-packages/*.dist-info/RECORD"):
        base = str(record.parents[1])
        for line in record.read_text("utf-8", "replace").splitlines():
            path = os.path.normpath(os.path.join(base, line.rsplit(",", 2)[0].strip('"')))
            inside, name = os.path.split(path)
            if name.endswith(".pyc"):
                continue
            if inside not in names:
                names[inside] = set(os.listdir(inside)) if os.path.isdir(inside) else set()
            if name not in names[inside]:
                return os.path.relpath(path, folder)
    lost = set(_noted(folder).get("packages", ())) - packages(folder)
    return min(lost, default=None)


def packages(folder: Path) -> set[str]:
    """The names of the installed packages, whatever their versions: somebody may have chosen a newer one."""
    found = folder.glob("lib/python*/site-packages/*.dist-info/RECORD")
    return {_named(record.parent.name.partition("-")[0]) for record in found}


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """One at a time in this project: a second waits until the first has ended, however it ends."""
    held = os.open(ROOT, os.O_RDONLY)
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("another make is at work on the environment: waiting until it has finished", flush=True)
            fcntl.flock(held, fcntl.LOCK_EX)
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        os.close(held)


def shown(folder: Path) -> str:
    """As one would type it here."""
    return str(folder.relative_to(ROOT)) if folder.is_relative_to(ROOT) else str(folder)


def _do(command: list[str], who: str, scratch: Path | None = None, quiet: bool = False) -> None:
    """Run a step of the installation and show how far it is. Raises Trouble with its last lines when it fails."""
    env = os.environ | ({"TMPDIR": str(scratch)} if scratch else {})
    said: deque[str] = deque(maxlen=400)
    with subprocess.Popen(
        command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        assert process.stdout
        for line in process.stdout:
            said.append(line.rstrip())
            if (step := _SHOWN.match(line)) and not quiet:
                print(f"  {step[1]} {step[2].rpartition('/')[2]} {step[3] or ''}".rstrip(), flush=True)
    if process.returncode or (quiet and any(map(_OFFLINE.search, said))):  # where there is no network pip stays old
        raise Trouble(_failure(list(said), who))


def _failure(said: list[str], who: str) -> str:
    """What keeps the network away in one sentence; else the failed step's last words whole, from its first error on."""
    if any(map(_OFFLINE.search, said)):
        proxy = next((f" (through the proxy in {name})" for name in _PROXY if os.environ.get(name)), "")
        return (
            f"The environment could not be made: the package index could not be reached{proxy}; "
            "this needs the network, and what comes after it does not."
        )
    first = next((n for n, line in enumerate(said) if line.strip().lower().startswith("error")), 0)
    lines = [line for line in said[first:] if line.strip()][-LAST:]
    return "\n".join([f"The environment could not be made. {who} says:", *(f"    {line}" for line in lines)])


def _noted(folder: Path) -> dict[str, Any]:
    try:
        noted = json.loads((folder / ".ready").read_text())
    except (OSError, ValueError):
        return {}
    return noted if isinstance(noted, dict) else {}


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[-1].startswith("-") or sys.argv[1:-1] not in ([], ["--whole"]):
        sys.exit(__doc__)
    place = Path(os.path.abspath(sys.argv[-1]))
    try:
        if sys.argv[1] == "--whole":
            sys.exit(unusable(place) is not None or not is_ready(place))
        main(place)
    except Trouble as trouble:
        sys.exit(str(trouble))
    except OSError as error:
        sys.exit(f"The environment could not be made: {error.strerror or error} ({error.filename or place}).")
    except KeyboardInterrupt:
        sys.exit("interrupted: `make env` goes on from here")
