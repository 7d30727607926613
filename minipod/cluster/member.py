"""Run one process of a cluster that Slurm, MPI or a person has started: `python -m minipod start PROGRAM …`.

In JAX an uncaught error, or `sys.exit(2)`, does not end a process at once: at exit it waits up to 300 s for the
others, and they wait for it, so no launcher sees that anything has failed. Here a process that fails ends at once,
with its status, and so does every process that it has started:

- after `jax.distributed.initialize`, without exit handlers;
- before it, and in a program that never calls it, as Python ends it, but threads and exit handlers have two seconds;
- an uncaught exception in a thread counts, too, while the main thread runs: status 1, no exit handlers. A
  program that sets `threading.excepthook` decides for itself.

A process that is killed, or aborted by JAX because another one has gone, cannot end the processes it has started.
"""

import contextlib
import faulthandler
import os
import sys
import threading
import time
from typing import Any, NoReturn

from minipod import jax_private
from minipod.cluster.arguments import port_of_step
from minipod.cluster.as_main import as_main, in_the_program
from minipod.processes import adopt_orphans, kill_children

LAST_WORDS = 1.0  # seconds that they have: srun drops what is still under way when it ends the others
FIRST_GOES_LAST = 0.5  # seconds more, if all leave: without process 0 JAX aborts the others
PATIENCE = 2.0  # seconds for threads and exit handlers where no other process waits for this one
_PID = os.getpid()


def start(command: list[str]) -> None:
    """Run `[-m] PROGRAM ARGUMENTS…` as `python` would; end the process at once if it fails.

    A process that JAX aborts because another one is gone prints its stacks first.
    Returns if the program reaches its end; otherwise raises SystemExit, or leaves at once.
    """
    with contextlib.suppress(OSError, ValueError, RuntimeError):  # no stderr
        faulthandler.enable()
    # further steps of a Slurm job, also of programs that use JAX alone
    if port := port_of_step():
        os.environ["JAX_COORDINATOR_PORT"] = port
    threading.excepthook = _thread_fails
    try:
        as_main(command)
    except SystemExit as end:
        if isinstance(end.code, int | None):
            status = end.code or 0
        else:
            print(end.code, file=sys.stderr)
            status = 1
    except BaseException as error:  # KeyboardInterrupt, too
        trace = in_the_program(error.__traceback__, __file__)
        error.__traceback__ = trace
        sys.excepthook(type(error), error, trace)
        status = 130 if isinstance(error, KeyboardInterrupt) else 1
    else:
        return
    if status:
        leave(status)
    sys.exit(status)


def _thread_fails(args: threading.ExceptHookArgs) -> None:
    threading.__excepthook__(args)
    fails = not issubclass(args.exc_type, SystemExit)  # that ends just the thread
    if fails and os.getpid() == _PID and threading.main_thread().is_alive():
        leave(1)
        _end(1)


def _in_a_cluster() -> bool:
    distributed: Any = getattr(sys.modules.get("jax"), "distributed", None)  # None while JAX is imported, too
    return distributed is not None and distributed.is_initialized()


def leave(status: int) -> None:
    """End this process, after a second for its last output, and all that it has started.

    If no other process waits for this one, return, so that Python ends it and exit handlers run, within 2 s.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    time.sleep(LAST_WORDS)
    if _in_a_cluster():
        number, _ = jax_private.process_and_count() or (0, 1)  # where JAX hides it, each may be process 0
        time.sleep(FIRST_GOES_LAST * (number == 0))
        _end(status)
    _end_children()
    late = threading.Timer(PATIENCE, _end, [status])  # a thread goes on?
    late.daemon = True
    late.start()


def _end(status: int) -> NoReturn:
    _end_children()
    os._exit(status)


def _end_children() -> None:
    """End all children but multiprocessing's resource tracker, which removes shared memory and ends after us."""
    adopt_orphans()
    tracker: Any = getattr(sys.modules.get("multiprocessing.resource_tracker"), "_resource_tracker", None)
    kill_children(frozenset() if tracker is None else frozenset({tracker._pid} - {None}))
