"""A stranger's first commands: on each Python that is promised, as an ordinary user, in odd places, without a network.

A row is a Python with an environment of its own (a minute and a gigabyte each); a condition is what is odd around it.
"""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from projects import copy, exercises
from seldom import rarely

pytestmark = pytest.mark.long

LIMIT = 1200  # seconds for an installation over a slow network
NOBODY = "65534"
AS_NOBODY = ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--"]
OFFLINE = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
NAMELESS = ["unshare", "--uts", "sh", "-c", 'hostname nowhere-at-all && exec "$@"', "sh"]
DEAD = "http://127.0.0.1:9"

# name -> (what stands before each command, variables). A new condition is a line here.
CONDITIONS: dict[str, tuple[list[str], dict[str, str]]] = {
    "plain": ([], {}),
    "offline": (OFFLINE, {}),
    "LANG=C": ([], {"LANG": "C"}),
    "Turkish": ([], {"LC_ALL": "tr_TR.UTF-8"}),
    "no HOME": ([], {"HOME": "/proc/nobody"}),
    "no TMPDIR": ([], {"TMPDIR": "/proc/nowhere"}),
    "a proxy that nobody reaches": ([], dict.fromkeys(("http_proxy", "https_proxy", "ALL_PROXY"), DEAD)),
    "a name without an address": (NAMELESS, {}),
    "settings of JAX": ([], {"JAX_ENABLE_X64": "1", "JAX_DISABLE_JIT": "1", "JAX_PLATFORMS": "cuda"}),
}


@dataclass
class Place:
    """A checkout with its environment, and how commands are run there."""

    folder: Path
    python: str
    prefix: list[str]
    variables: dict[str, str]

    def run(self, *command: str, under: str = "plain", stdin: str = "") -> str:
        """What the command prints; fails unless it ends with 0 (1 for exercises that are not solved)."""
        before, more = CONDITIONS[under]
        gone = ("PYTHON", "MAKE", "LC_", "LANG", "MFLAGS", "VIRTUAL_ENV", "XLA_", "JAX_")
        env = {k: v for k, v in os.environ.items() if not k.startswith(gone)} | self.variables | more
        done = subprocess.run(
            [*before, *self.prefix, *command],
            **{"cwd": self.folder, "env": env, "input": stdin, "umask": 0o077},
            **{"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "timeout": LIMIT},
        )
        assert done.returncode in ((0, 1) if "lessons" in " ".join(command) else (0,)), done.stdout
        assert "Traceback" not in done.stdout, done.stdout
        return done.stdout


def find(version: str) -> str | None:
    """A Python of that version with the module venv, as a machine has it."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for path in (*sorted(pyenv.glob(f"{version}.*/bin/python3")), Path(f"/usr/bin/python{version}")):
        if path.exists():
            return str(path)
    return shutil.which(f"python{version}") if f"python{version}" not in str(pyenv) else None


@pytest.fixture(scope="module", params=["system", *rarely("3.12", "3.13")])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """A checkout below «我的 书», its environment made by `make env`; of the system's Python as an ordinary user."""
    own = request.param == "system"
    python = shutil.which("/usr/bin/python3") if own else find(request.param)
    look = "import sys, ensurepip; sys.exit(sys.version_info < (3, 11))"  # ensurepip comes with the module venv
    if not python or (own and subprocess.run([python, "-c", look], capture_output=True).returncode):
        pytest.skip(f"there is no {request.param} Python of a version that is promised")
    with tempfile.TemporaryDirectory(prefix="start-") as above:
        Path(above).chmod(0o755)
        folder = copy(Path(above, "我的 书"))
        variables, prefix = {"HOME": str(folder)}, []
        if own and os.getuid() == 0:
            variables, prefix = {"HOME": "/nonexistent"}, AS_NOBODY
            for path in (folder, *folder.rglob("*")):
                os.chown(path, int(NOBODY), int(NOBODY), follow_symlinks=False)
                path.chmod(path.stat().st_mode & ~stat.S_IRWXO)
        made = Place(folder, python, prefix, variables)
        print(made.run("make", "env", f"PYTHON={python}"), file=sys.stderr)
        if not own:  # with the newest JAX
            made.run(".venv/bin/python", "-m", "pip", "install", "--quiet", "--upgrade", "jax", "jaxlib")
        yield made


@pytest.mark.parametrize("under", CONDITIONS)
def test_the_first_commands(place: Place, under: str):
    if CONDITIONS[under][0] and os.getuid():
        pytest.skip("only root may take the network or the name away")
    assert place.run("make", "env", f"PYTHON={place.python}", under=under) == ""
    said = place.run(".venv/bin/pytest", "lessons/ch01_devices", "--lang", "en", "--solutions", under=under)
    several = exercises("ch01_devices")
    assert f"exercises checked here: {several} of {several} solved" in said
    said = place.run(".venv/bin/minipod", "run", "-n", "2", "-d", "2", "lessons/ch10_processes/hello.py", under=under)
    assert "[0] I am process 0 of 2" in said and "[1] I am process 1 of 2" in said


def test_the_doctor_finds_nothing_wrong_that_is_needed_and_a_learner_begins(place: Place):
    under = "plain" if os.getuid() else "offline"
    said = place.run(".venv/bin/minipod", "doctor", under=under)
    assert "8 cpu" in said and "add 1 and 1 to 2.0, 2.0" in said
    said = place.run(".venv/bin/python", "-m", "lessons", "learn", "--plain", "--lang", "en", under=under, stdin="q\n")
    assert f"of {exercises()} solved" in said
    owner, answers = place.folder.stat().st_uid, place.folder / "answers"
    assert (answers / "ch01_devices.py").is_file() and {path.stat().st_uid for path in answers.iterdir()} == {owner}
