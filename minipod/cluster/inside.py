"""Run one process of a local cluster: `python -m minipod.cluster.inside REPORT TEXT [-m] PROGRAM ARGUMENTS…`.

It takes two processes. The launcher starts the *keeper*, which forks the *program* and waits for it. When the program
ends, or the launcher closes the pipe on the keeper's standard input (as also happens when the launcher is killed), the
keeper ends everything that was started below it. The program runs as `__main__`, as `python PROGRAM` would run it.

REPORT and TEXT are file descriptors. TEXT takes what Python prints; what libraries write to descriptors 1 and 2 (gloo's
lines) takes another path and never splits a line of it. REPORT takes one JSON object per line: `{"pid": …}`;
`{"thread": …}` for each thread that the program starts; `{"joins": [number, processes, address]}` when it calls
`jax.distributed.initialize`, null when it shuts that down; `{"raised": …, "message": …, "at": …}` if it raised;
`{"done": exit code, "time": …, "computed": whether JAX has started its devices}`; and, whenever ASK arrives, the stack
of the main thread as `faulthandler` writes it.
"""

import contextlib
import faulthandler
import os
import re
import resource
import select
import signal
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any, NoReturn

from minipod.cluster import joining
from minipod.cluster.as_main import as_main, in_the_program
from minipod.cluster.protocol import ASK, NO_DEBUGGER
from minipod.devices import have_started
from minipod.processes import adopt_orphans, end_child, environment, fork, gloo, json_lines, kill_children, kill_group
from minipod.processes.frames import is_own


def main() -> None:
    """Fork the program, wait for it, and exit with its status."""
    report, text, *command = sys.argv[1:]
    adopt_orphans()
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken)
    signal.signal(signal.SIGCHLD, lambda *_: None)  # a handler, so that the byte is written to `woken`
    pid = fork()
    if pid == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _program(int(report), int(text), command)
        return  # the interpreter ends as usual: exit handlers, JAX's among them, run
    for descriptor in (int(report), int(text), 1, 2):
        os.close(descriptor)
    _end_as(_keep(pid, wake))


def _keep(pid: int, wake: int) -> int:
    """Wait until program `pid` ends or the launcher closes the pipe; end all descendants and return the wait status."""
    status = None
    while status is None:
        ready, _, _ = select.select([0, wake], [], [])
        if 0 in ready:
            break
        os.read(wake, 4096)
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == pid:
                    status = ended[1]
    if status is None:
        status = end_child(pid)
    else:
        kill_group(pid)
    kill_children()
    return status


def _end_as(status: int) -> NoReturn:
    """End with the same exit code or by the same signal, so that the launcher sees the program's own end."""
    if os.WIFSIGNALED(status):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(os.WTERMSIG(status), signal.SIG_DFL) if os.WTERMSIG(status) != signal.SIGKILL else None
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.waitstatus_to_exitcode(status))


def _program(report: int, text: int, command: list[str]) -> None:
    """Run `[-m] PROGRAM ARGUMENTS…` as `__main__` and report how it went. Raises only SystemExit."""
    for descriptor in (report, text):
        os.set_inheritable(descriptor, False)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdout = open(text, "w", encoding="utf-8", errors="replace", buffering=1)
    sys.stderr = sys.stdout
    faulthandler.register(ASK, file=report, all_threads=False)
    environment.silence_proxy_warning()
    if os.environ.get("MINIPOD_COORDINATOR", "").startswith("127."):  # elsewhere a host's own name is right
        gloo.listen_on("127.0.0.1")

    def tell(**what: Any) -> None:
        json_lines.write(report, what)

    def tell_of_thread(*_: Any) -> None:
        sys.setprofile(None)
        tell(thread=threading.get_native_id())

    tell(pid=os.getpid())
    joining.watch(tell)
    threading.setprofile(tell_of_thread)  # called once, when a thread begins
    if "PYTHONBREAKPOINT" not in os.environ:
        sys.breakpointhook = _no_debugger
    code, computed = 1, False
    try:
        as_main(command)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        raise
    except BaseException as error:
        error.__traceback__ = trace = in_the_program(error.__traceback__, __file__)
        sys.last_type = type(error)  # as Python does: `minipod.guard` names it
        if sys.excepthook is sys.__excepthook__:
            sys.stderr.write(_in_short(error))
        else:
            sys.excepthook(type(error), error, trace)
        tell(raised=type(error).__name__, message=str(error)[:2000], at=_place(error))
        sys.exit(1)
    finally:
        with contextlib.suppress(Exception):  # a damaged JAX must not hide how the program ended
            computed = have_started()
        tell(done=code & 0xFF, time=time.monotonic(), computed=computed)


def _no_debugger(*_: Any, **__: Any) -> NoReturn:
    raise RuntimeError(NO_DEBUGGER)


def _in_short(error: BaseException) -> str:
    """Leave installed libraries' frames out of Python's traceback; JAX_TRACEBACK_FILTERING=off keeps them all."""
    full = traceback.TracebackException.from_exception(error)
    part: traceback.TracebackException | None = full
    while part and os.environ.get("JAX_TRACEBACK_FILTERING") != "off":
        if frames := [frame for frame in part.stack if is_own(frame.filename)]:
            part.stack = traceback.StackSummary.from_list(frames)
        part = part.__cause__ or (None if part.__suppress_context__ else part.__context__)
    return re.sub(r"^ +[\^~]+\n", "", "".join(full.format()), flags=re.M)  # without the marks below each line


def _place(error: BaseException) -> str | None:
    """Return the innermost line of the user's own code that the error passed through, as `file.py:12`."""
    if isinstance(error, SyntaxError) and error.filename and is_own(error.filename):
        return f"{Path(error.filename).name}:{error.lineno}"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if is_own(f.filename)]
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else None


if __name__ == "__main__":
    main()
