"""`python -m pytest …` from a process that has JAX and pytest imported already: a start of three seconds takes none.

One such process stands by for each test process, and forks a child for each run. Only for runs with the environment as
it is: what JAX reads while it is imported, and what others see of a process's environment, needs a Python of its own.
"""

import atexit
import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

SERVER = "import warm_python; warm_python.serve()"
_server: subprocess.Popen | None = None


def pytest(arguments: list[str], folder: Path, env: dict[str, str], seconds: float) -> subprocess.CompletedProcess:
    """`python -m pytest ARGUMENTS` in a folder: its status and what it printed. Raises as subprocess.run does."""
    global _server
    if _server is None:
        path = os.pathsep.join([str(Path(__file__).parent), env["PYTHONPATH"]])
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        _server = subprocess.Popen([sys.executable, "-c", SERVER], env=env | {"PYTHONPATH": path}, **pipes)
        atexit.register(_server.stdin.close)
    request = {"arguments": arguments, "folder": str(folder), "seconds": seconds}
    print(json.dumps(request), file=_server.stdin, flush=True)
    said = json.loads(_server.stdout.readline())
    if said["status"] is None:
        raise subprocess.TimeoutExpired(arguments, seconds, said["out"])
    return subprocess.CompletedProcess(arguments, said["status"], said["out"], said["err"])


def serve() -> None:
    """Answer requests, a line each, until standard input is closed."""
    import tempfile

    import _pytest.config  # noqa: F401
    import jax.numpy  # noqa: F401

    import grader.run.pytest_plugin  # noqa: F401

    del sys.path[1]  # the folder of this file
    for line in sys.stdin:
        request = json.loads(line)
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            pid = os.fork()
            if pid == 0:
                _become(request, out.fileno(), err.fileno())
            status = _wait(pid, request["seconds"])
            texts = [file.seek(0) or file.read().decode("utf-8", "replace") for file in (out, err)]
        print(json.dumps({"status": status, "out": texts[0], "err": texts[1]}), flush=True)


def _become(request: dict, out: int, err: int) -> None:
    """What a new Python would be; never returns."""
    null = os.open(os.devnull, os.O_RDONLY)
    for descriptor, number in ((null, 0), (out, 1), (err, 2)):
        os.dup2(descriptor, number)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
    os.chdir(request["folder"])
    sys.path[0] = request["folder"]
    sys.argv = ["pytest", *request["arguments"]]
    runpy.run_module("pytest", run_name="__main__", alter_sys=True)  # raises SystemExit, which ends the child
    raise SystemExit(0)


def _wait(pid: int, seconds: float) -> int | None:
    """The exit status, negative for a signal; None, and all is killed, after so many seconds."""
    import time

    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return None
