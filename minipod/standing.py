"""The lab that stays: `minipod hosts up` and `down`.

Its keeper is a process in the background, `python -m minipod.standing …`, that holds the lab and a lock on a file which
says who the hosts are. A file that nobody has locked is left over from a keeper that died, and the lab died with it.
"""

import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

from minipod import hosts
from minipod.hosts import Lab

PATIENCE = 10.0  # seconds for a keeper to end


def up(count: int = 2, rate: str | None = None, delay: str | None = None) -> Lab:
    """A lab that stays until `down`, as `hosts.lab` makes it.

    Raises ValueError if there is one already; else as `hosts.lab`.
    """
    hosts.check(count, rate, delay)
    if lab := standing():
        raise ValueError(f"a lab is up already ({describe(lab)}): `minipod hosts down` ends it")
    if reason := hosts.why_not(delay is not None):
        raise PermissionError(reason)
    command = [sys.executable, "-P", "-m", "minipod.standing", json.dumps([count, rate, delay])]
    keeper = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        cwd="/",
        text=True,
    )
    assert keeper.stdout
    with keeper.stdout:
        said = keeper.stdout.readline()
    keeper.wait()
    if said != "ready\n":
        raise PermissionError(f"no lab could be made: {said.strip()}")
    lab = standing()
    assert lab
    return lab


def down() -> None:
    """End the lab that stays. ValueError if there is none."""
    lab, keeper = _read()
    if lab is None:
        raise ValueError("no lab is up: `minipod hosts up` makes one")
    for deadly in (signal.SIGTERM, signal.SIGKILL):
        os.kill(keeper, deadly)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if standing() is None:
                return
            time.sleep(0.01)


def standing() -> Lab | None:
    """The lab that is up, if there is one. What a dead keeper left is removed."""
    return _read()[0]


def describe(lab: Lab) -> str:
    """`2 hosts, 100 Mbit/s, 5 ms apart`."""
    rate = f", {lab.rate / 1e6:g} Mbit/s" if lab.rate else ""
    return f"{len(lab.pids)} hosts{rate}" + (f", {lab.delay * 1e3:g} ms apart" if lab.delay else "")


def _file() -> Path:
    """In a folder that belongs to this user alone. Raises PermissionError if it is somebody else's."""
    folder = os.environ.get("XDG_RUNTIME_DIR") or f"{tempfile.gettempdir()}/minipod-{os.getuid()}"
    Path(folder).mkdir(mode=0o700, exist_ok=True)
    if Path(folder).stat().st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to somebody else: set XDG_RUNTIME_DIR to a folder of yours")
    return Path(folder, "minipod-hosts.json")


def _read() -> tuple[Lab | None, int]:
    """The lab that is up and its keeper's pid, or (None, 0)."""
    try:
        with _file().open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            _file().unlink()  # nobody holds it
    except FileNotFoundError:
        pass
    except BlockingIOError:
        if not (text := _file().read_text()):
            raise ValueError("a lab is being made at this moment: try again in a second") from None
        found = json.loads(text)
        return Lab(tuple(found["pids"]), found["rate"], found["delay"]), found["keeper"]
    return None, 0


def _keep() -> None:
    """The keeper, a process of nobody's: make the lab, write the file, stay until SIGTERM."""
    if os.fork():
        os._exit(0)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
    with _file().open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with hosts.lab(*json.loads(sys.argv[1])) as lab:
            json.dump(asdict(lab) | {"keeper": os.getpid()}, file)
            file.flush()
            print("ready", flush=True)
            for descriptor in (1, 2):
                os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
            signal.sigwait([signal.SIGTERM])
        _file().unlink()


if __name__ == "__main__":
    try:
        _keep()
    except OSError as error:
        sys.exit(str(error))
