"""How the process of a sandbox is started so that it sees little, changes nothing and ends with us.

bwrap     bubblewrap: an empty file system with what Python needs in it, read-only; own processes, network, /tmp
unshare   the same with util-linux's unshare and our own mounts (mounts.py)
none      a plain process

Started by root, the first two become a user without a name, one for each place, so that the limit on processes, which
the kernel counts by user and not for root, holds for each sandbox by itself.
"""

import json
import os
import re
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

import minipod

KINDS = ("bwrap", "unshare", "none")
TMP_BYTES = 256 << 20  # of /tmp and of /dev/shm
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store")
_ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime")
_ETC += ("passwd", "group", "hosts", "nsswitch.conf")
_ENGINE = Path(minipod.__file__).parents[1]  # holds minipod/ and grader/
_FIRST_USER = 2_000_000_000  # nobody's: above what systemd and containers hand out


@dataclass
class SandboxFiles:
    """What a sandbox sees of the file system, all of it read-only.

    root    the project: its lessons and the compilation cache are visible; solutions, known mistakes and the other
            answers that the authors of chapters wrote are not
    hidden  folders that must not be seen even where they lie inside a visible one
    """

    root: Path
    hidden: list[Path]
    visible: list[Path] = field(init=False)
    masked: list[Path] = field(init=False)

    def __post_init__(self) -> None:
        engine = [_ENGINE / "minipod", _ENGINE / "grader"]
        lessons = [*sorted((self.root / "lessons").glob("ch[0-9]*")), self.cache]
        system = [*map(Path, _SYSTEM), *(Path("/etc", name) for name in _ETC), Path(sys.prefix), Path(sys.base_prefix)]
        wanted = [*system, *self.packages, *engine, *lessons]
        there = dict.fromkeys(path for path in wanted if path.exists())
        self.visible = [path for path in there if not any(path != q and path.is_relative_to(q) for q in there)]
        self.masked = sorted((self.root / "lessons").glob("ch[0-9]*/mistakes.py"))

    @property
    def cache(self) -> Path:
        return self.root / ".cache" / "jax"

    @property
    def packages(self) -> list[Path]:
        """Where Python imports from, but for folders that hold what must stay hidden."""
        secret = [self.root, _ENGINE, Path.cwd(), *self.hidden]
        folders = [Path(entry) for entry in sys.path if entry]
        return [p for p in folders if p.exists() and not any(s.is_relative_to(p) for s in secret)]

    @property
    def covered(self) -> list[Path]:
        """The hidden folders that a visible one contains."""
        hidden = [*self.hidden, *sorted((self.root / "lessons").glob("ch[0-9]*/others"))]
        return [h for h in hidden if h.exists() and any(h.is_relative_to(v) for v in self.visible)]


def available() -> list[str]:
    """The kinds whose programs this machine has, best first; whether they work is another question."""
    needs = {"bwrap": ("bwrap", "setpriv"), "unshare": ("unshare", "setpriv", "pivot_root"), "none": ()}
    if sys.platform != "linux":
        return ["none"]
    return [kind for kind in KINDS if all(_program(name) for name in needs[kind])]


def command(kind: str, files: SandboxFiles, program: list[str], place: int = 0) -> list[str]:
    """The command line that starts `program`, one, too, with this kind of isolation.

    place  sandboxes that are open at the same time have different ones
    """
    if kind == "bwrap":
        return _bwrap(files, program, place)
    if kind == "unshare":
        return _unshare(files, program, place)
    return program


def counts_processes(kind: str) -> bool:
    """Whether the kernel counts a sandbox's processes apart from this user's others: for root, and since Linux 5.14."""
    release = tuple(int(n) for n in re.findall(r"\d+", os.uname().release)[:2])
    return kind != "none" and (os.getuid() == 0 or release >= (5, 14))


def environment(files: SandboxFiles, tmp: str) -> dict[str, str]:
    """All the variables a sandbox has. tmp: its only writable folder."""
    path = os.pathsep.join(map(str, [_ENGINE, *files.packages]))
    own = {"PATH": "/usr/bin:/bin", "HOME": tmp, "TMPDIR": tmp, "LANG": "C.UTF-8", "PYTHONPATH": path}
    own |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONSAFEPATH": "1", "JAX_PLATFORMS": "cpu"}
    return own | {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}


def _program(name: str) -> str | None:
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin:/usr/bin:/bin")


def _bwrap(files: SandboxFiles, program: list[str], place: int) -> list[str]:
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
    parents = dict.fromkeys(str(parent) for path in files.visible for parent in reversed(path.parents))
    for parent in parents:  # what bwrap makes unasked, nobody may enter
        line += ["--dir", parent]
    for path in files.visible:
        line += ["--ro-bind", str(path), str(path)]
    for path in files.covered:
        line += ["--tmpfs", str(path), "--remount-ro", str(path)]
    for path in files.masked:
        line += ["--ro-bind", "/dev/null", str(path)]
    line += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/tmp", "--"]
    return line + (_unprivileged(place) if root else []) + program


def _unshare(files: SandboxFiles, program: list[str], place: int) -> list[str]:
    line = [_program("setpriv") or "setpriv", "--pdeathsig", "KILL", "--", _program("unshare") or "unshare"]
    if os.getuid():
        line += ["--user", "--map-root-user"]
    line += ["--mount", "--pid", "--fork", "--net", "--ipc", "--uts", "--kill-child"]
    plan = {
        "visible": [str(path) for path in files.visible],
        "covered": [str(path) for path in files.covered],
        "masked": [str(path) for path in files.masked],
        "tmp_bytes": TMP_BYTES,
        "pivot_root": _program("pivot_root"),
        "mount": _program("mount"),
        "umount": _program("umount"),
        "command": [*_unprivileged(place), *program],
    }
    return [*line, "--", sys.executable, "-I", "-S", str(Path(__file__).with_name("mounts.py")), json.dumps(plan)]


def _unprivileged(place: int) -> list[str]:
    """The start of a command that runs without any privilege, and for root as another user."""
    drop = [_program("setpriv") or "setpriv", "--no-new-privs", "--bounding-set", "-all", "--inh-caps", "-all"]
    if os.getuid() == 0:
        user = str(_FIRST_USER + place)
        drop += ["--reuid", user, "--regid", user, "--clear-groups"]
    return [*drop, "--"]
