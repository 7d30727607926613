"""One process of a cluster that Slurm, MPI or a person has started: `python -m minipod start PROGRAM …`.

In JAX an error that nobody catches, or `sys.exit(2)`, is no end yet: at exit the process waits up to 300 s for the
others, and they wait for it, so that no launcher sees that anything has failed. Here a process that fails ends at once,
with its status, and so does every process that it has started:

- after `jax.distributed.initialize` without exit handlers;
- before it, and in a program that never calls it, as Python ends; but threads and exit handlers have two seconds;
- an exception that nobody catches in a thread counts, too, while the main thread runs: status 1, no exit handlers. A
  program that sets `threading.excepthook` decides for itself.

A process that is killed, or aborted by JAX because another one has gone, can end nothing that it has started.
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
    """Run `[-m] PROGRAM ARGUMENTS…` as `python` would; a failure ends it.

    A process that JAX aborts when another is gone shows its stacks first.
    Returns where the program ends with 0, or raises SystemExit.
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
    """End every process that this one has started, and this one, at once.

    If no other process waits for it, Python ends it: exit handlers run.
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
    """All but multiprocessing's resource tracker: it removes shared memory, and ends when this process has ended."""
    adopt_orphans()
    tracker: Any = getattr(sys.modules.get("multiprocessing.resource_tracker"), "_resource_tracker", None)
    kill_children(frozenset() if tracker is None else frozenset({tracker._pid} - {None}))
