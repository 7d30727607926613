"""Start the process of a sandbox so that it sees little, changes nothing and ends with us.

bwrap     bubblewrap: a file system with only what Python needs, read-only; its own processes, network and /tmp
unshare   the same with util-linux's unshare and our own mounts (mounts.py)
none      a plain process

If root starts them, the first two become a user without a name, a different one each time: the kernel counts processes
by user, but not for root, and no later sandbox may find what the kernel keeps for a user, such as keys.
"""

import itertools
import json
import os
import re
import secrets
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import minipod

KINDS = ("bwrap", "unshare", "none")
TMP_BYTES = 256 << 20  # of /tmp and of /dev/shm
TMP_FILES = 20_000  # in each, where we mount them ourselves
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_STORE = Path("/nix/store")  # where Python lies there, what it needs lies beside it
_ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime")
_ETC += ("passwd", "group", "hosts", "nsswitch.conf")
_ENGINE = Path(minipod.__file__).parents[1]  # holds minipod/ and grader/
_NOBODY = range(2_000_000_000, 2_147_000_000)  # above what systemd and containers hand out
_users = itertools.count(secrets.randbelow(len(_NOBODY)))  # of this run; one at the same time begins elsewhere


@dataclass
class SandboxFiles:
    """The files that a sandbox sees, all of them read-only: Python, its packages, minipod and grader.

    root    the project; only what Python imports of it is visible: no lesson, no test, no solution
    hidden  folders that must not be visible even if they lie inside a visible one
    cache   a folder with compiled operations, and `pycache` with Python's own, which the sandbox may read
    """

    root: Path
    hidden: list[Path]
    cache: Path
    pycache: Path

    @property
    def steps(self) -> list[tuple[str, Path]]:
        """Return pairs ("show" or "cover", path), in order: each step applies inside those before it.

        First the system is shown; then whatever must be hidden is covered; then Python and what it imports are shown,
        and again everything hidden inside them is covered.
        """
        system = [*map(Path, _SYSTEM), *(Path("/etc", name) for name in _ETC)]
        if Path(sys.base_prefix).is_relative_to(_STORE):
            system.append(_STORE)
        readable = [*map(Path, (sys.prefix, sys.base_prefix)), *self.packages, _ENGINE / "minipod", _ENGINE / "grader"]
        readable += [self.cache, self.pycache]
        first = [p for p in self._secret if any(p.is_relative_to(folder) for folder in system)]
        last = [p for p in self._secret if any(p.is_relative_to(folder) and p != folder for folder in readable)]
        again = [p for p in readable if any(p.is_relative_to(folder) for folder in last)]
        ordered = [("show", system), ("cover", first), ("show", readable), ("cover", last), ("show", again)]
        return [(what, path) for what, paths in ordered for path in dict.fromkeys(paths) if path.exists()]

    @property
    def _secret(self) -> list[Path]:
        return list(dict.fromkeys([self.root, _ENGINE, *self.hidden]))

    @property
    def packages(self) -> list[Path]:
        """Return the folders from which Python imports, except those whose content must stay hidden."""
        secret = [*self._secret, Path.cwd()]
        folders = [Path(entry) for entry in sys.path if entry]
        return [p for p in folders if p.exists() and not any(s.is_relative_to(p) for s in secret)]


def available() -> list[str]:
    """Return the kinds whose programs this machine has, best first, without trying whether they work."""
    needs = {"bwrap": ("bwrap", "setpriv"), "unshare": ("unshare", "setpriv", "pivot_root"), "none": ()}
    if sys.platform != "linux":
        return ["none"]
    return [kind for kind in KINDS if all(_program(name) for name in needs[kind])]


def command(kind: str, files: SandboxFiles, program: list[str]) -> list[str]:
    """Return the command line that starts the command `program` with this isolation, each time as a different user."""
    if kind == "bwrap":
        return _bwrap(files, program)
    if kind == "unshare":
        return _unshare(files, program)
    return program


def counts_processes(kind: str) -> bool:
    """Return whether the kernel counts a sandbox's processes separately, as it does for root and since Linux 5.14."""
    release = tuple(int(n) for n in re.findall(r"\d+", os.uname().release)[:2])
    return kind != "none" and (os.getuid() == 0 or release >= (5, 14))


def environment(files: SandboxFiles, tmp: str) -> dict[str, str]:
    """Return all environment variables of a sandbox. tmp: its only writable folder."""
    path = os.pathsep.join(map(str, [_ENGINE, *files.packages]))
    variables = {"PATH": "/usr/bin:/bin", "HOME": tmp, "TMPDIR": tmp, "LANG": "C.UTF-8", "PYTHONPATH": path}
    variables |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONSAFEPATH": "1", "JAX_PLATFORMS": "cpu"}
    variables |= {"PYTHONPYCACHEPREFIX": str(files.pycache), "PYTHONNOUSERSITE": "1"}
    return variables | {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}


def _program(name: str) -> str | None:
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin:/usr/bin:/bin")


def _bwrap(files: SandboxFiles, program: list[str]) -> list[str]:
    root = os.getuid() == 0
    line = [_program("bwrap") or "bwrap", "--die-with-parent", "--new-session", "--hostname", "localhost"]
    line += ["--unshare-pid", "--unshare-ipc", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    line += ["--cap-drop", "ALL"]
    if root:
        line += [word for cap in ("SETUID", "SETGID", "SETPCAP") for word in ("--cap-add", f"CAP_{cap}")]
    else:
        line += ["--unshare-user", "--disable-userns"]
    size = ["--size", str(TMP_BYTES)]
    line += ["--perms", "1777", *size, "--tmpfs", "/tmp", "--proc", "/proc", "--dev", "/dev"]
    line += ["--perms", "1777", *size, "--tmpfs", "/dev/shm"]
    steps, made = files.steps, {Path("/")}
    for n, (what, path) in enumerate(steps):
        for parent in reversed(path.parents):  # what bwrap makes unasked, nobody may enter
            inside = [kind for kind, folder in steps[:n] if parent.is_relative_to(folder)]
            if parent not in made and (not inside or (inside[-1] == "cover" and ("cover", parent) not in steps)):
                line += ["--dir", str(parent)]
                made.add(parent)
        line += ["--ro-bind", str(path), str(path)] if what == "show" else ["--perms", "0755", "--tmpfs", str(path)]
    for what, path in steps:
        if what == "cover":
            line += ["--remount-ro", str(path)]
    line += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/tmp", "--"]
    return line + (_unprivileged() if root else []) + program


def _unshare(files: SandboxFiles, program: list[str]) -> list[str]:
    line = [_program("setpriv") or "setpriv", "--pdeathsig", "KILL", "--", _program("unshare") or "unshare"]
    if os.getuid():
        line += ["--user", "--map-root-user"]
    line += ["--mount", "--pid", "--fork", "--net", "--ipc", "--uts", "--kill-child"]
    plan = {
        "steps": [(what, str(path)) for what, path in files.steps],
        "tmp_bytes": TMP_BYTES,
        "tmp_files": TMP_FILES,
        "pivot_root": _program("pivot_root"),
        "mount": _program("mount"),
        "umount": _program("umount"),
        "command": [*_unprivileged(), *program],
    }
    return [*line, "--", sys.executable, "-I", "-S", str(Path(__file__).with_name("mounts.py")), json.dumps(plan)]


def _unprivileged() -> list[str]:
    """Return the beginning of a command that runs without any privilege and, for root, as a different user."""
    drop = [_program("setpriv") or "setpriv", "--no-new-privs", "--bounding-set", "-all", "--inh-caps", "-all"]
    if os.getuid() == 0:
        user = str(_NOBODY[next(_users) % len(_NOBODY)])
        drop += ["--reuid", user, "--regid", user, "--clear-groups"]
    return [*drop, "--"]
