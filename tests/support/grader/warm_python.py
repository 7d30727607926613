"""`python -m pytest …` from a process that has JAX and pytest imported already: a start of three seconds takes none.

One such process stands by for each test process, and forks a child for each run. Only for runs with the environment as
it is: what JAX reads while it is imported, and what others see of a process's environment, needs a Python of its own.
"""

import atexit
import os
import runpy
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from minipod.processes import Program, end_child, fork, json_lines

SERVER = "import warm_python; warm_python.serve()"
_server: tuple[Program, json_lines.Reader] | None = None


def pytest(arguments: list[str], folder: Path, env: dict[str, str], seconds: float) -> subprocess.CompletedProcess:
    """`python -m pytest ARGUMENTS` in a folder: its status and what it printed. Raises as subprocess.run does."""
    global _server
    if _server is None or _server[0].poll() is not None:  # a test may have ended every child of its process
        path = os.pathsep.join([str(Path(__file__).parent), env["PYTHONPATH"]])
        started = Program([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, env=env | {"PYTHONPATH": path})
        atexit.register(started.let_go)
        _server = started, json_lines.Reader(started.stdout.fileno())
    program, replies = _server
    request = {"arguments": arguments, "folder": str(folder), "seconds": seconds}
    json_lines.write(program.stdin.fileno(), request)
    said = replies.read()
    if said["late"]:
        raise subprocess.TimeoutExpired(arguments, seconds, said["out"])
    return subprocess.CompletedProcess(arguments, said["status"], said["out"], said["err"])


def serve() -> None:
    """Answer requests until standard input is closed."""
    import _pytest.config  # noqa: F401
    import jax.numpy  # noqa: F401

    import grader.run.pytest_plugin  # noqa: F401

    del sys.path[1]  # the folder of this file
    requests, replies = json_lines.Reader(json_lines.taken(0)), json_lines.taken(1)
    for request in requests:
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            end = time.monotonic() + request["seconds"]
            pid = fork()
            if pid == 0:
                _become(request, out.fileno(), err.fileno())
            status = os.waitstatus_to_exitcode(end_child(pid, request["seconds"]))
            texts = [file.seek(0) or file.read().decode("utf-8", "replace") for file in (out, err)]
        late = time.monotonic() > end
        json_lines.write(replies, {"status": status, "late": late, "out": texts[0], "err": texts[1]})


def _become(request: dict, out: int, err: int) -> None:
    """What a new Python would be; never returns."""
    os.dup2(out, 1)
    os.dup2(err, 2)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w", closefd=False), open(2, "w", closefd=False)
    os.chdir(request["folder"])
    sys.path[0] = request["folder"]
    sys.argv = ["pytest", *request["arguments"]]
    runpy.run_module("pytest", run_name="__main__", alter_sys=True)  # raises SystemExit, which ends the child
    raise SystemExit(0)
