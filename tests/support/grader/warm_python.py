"""`python -m MODULE …` from a process that has JAX and pytest imported already: a start of three seconds takes none.

One such process stands by for each test process, and forks a child for each run. Not for what JAX reads of the
environment while it is imported, nor for what others see of a process's environment: that needs a Python of its own.
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
SECONDS = 300.0  # that long is hung
_server: tuple[Program, json_lines.Reader] | None = None


def environment() -> dict[str, str]:
    """This one without what pytest, a launcher and the reader's language say in it."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "LC_", "LANG", "MINIPOD_"))}


def run(module: str, arguments: list[str], folder: Path, more: dict[str, str]) -> subprocess.CompletedProcess:
    """`python -m MODULE ARGUMENTS` in a folder, with `more` in its environment: its status and what it printed.

    Raises as subprocess.run does, after five minutes.
    """
    global _server
    if _server is None or _server[0].poll() is not None:  # a test may have ended every child of its process
        places = os.pathsep.join([str(Path(__file__).parent), str(Path(__file__).parents[3])])
        env = environment() | {"PYTHONPATH": places}
        started = Program([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, env=env)
        atexit.register(started.let_go)
        _server = started, json_lines.Reader(started.stdout.fileno())
    program, replies = _server
    request = {"module": module, "arguments": arguments, "folder": str(folder), "env": more}
    json_lines.write(program.stdin.fileno(), request)
    said = replies.read()
    if said["late"]:
        raise subprocess.TimeoutExpired(arguments, SECONDS, said["out"])
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
            end = time.monotonic() + SECONDS
            pid = fork()
            if pid == 0:
                _become(request, out.fileno(), err.fileno())
            status = os.waitstatus_to_exitcode(end_child(pid, SECONDS))
            texts = [file.seek(0) or file.read().decode("utf-8", "replace") for file in (out, err)]
        late = time.monotonic() > end
        json_lines.write(replies, {"status": status, "late": late, "out": texts[0], "err": texts[1]})


def _become(request: dict, out: int, err: int) -> None:
    """What a new Python would be; never returns."""
    os.dup2(out, 1)
    os.dup2(err, 2)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w", closefd=False), open(2, "w", closefd=False)
    os.chdir(request["folder"])
    os.environ |= request["env"]
    sys.path[0] = request["folder"]
    sys.argv = [request["module"], *request["arguments"]]
    runpy.run_module(request["module"], run_name="__main__", alter_sys=True)  # raises SystemExit, which ends the child
    raise SystemExit(0)
