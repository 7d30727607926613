"""One process of a cluster that Slurm, MPI or a person has started: `python -m minipod start PROGRAM …`.

In JAX an error that nobody catches, or `sys.exit(2)`, is no end yet: at exit the process waits up to 300 s for the
others, and they wait for it, so that no launcher sees that anything has failed. Here it ends at once.
"""

import contextlib
import faulthandler
import os
import sys
import time
from typing import Any

from minipod.cluster.arguments import port_of_step
from minipod.cluster.as_main import as_main, in_the_program
from minipod.processes.private import private

LAST_WORDS = 1.0  # seconds that they have: srun drops what is still under way when it ends the others
FIRST_GOES_LAST = 0.5  # seconds more, if all leave: without process 0 JAX aborts the others


def start(command: list[str]) -> None:
    """Run `[-m] PROGRAM ARGUMENTS…` as `python` would; who fails leaves.

    Who is aborted, as JAX does when another is gone, shows its stacks first.
    Returns, or raises SystemExit, where nobody waits for this process.
    """
    with contextlib.suppress(OSError, ValueError, RuntimeError):  # no stderr
        faulthandler.enable()
    # further steps of a Slurm job, also of programs that use JAX alone
    if port := port_of_step():
        os.environ["JAX_COORDINATOR_PORT"] = port
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


def _in_a_cluster() -> bool:
    jax: Any = sys.modules.get("jax")
    return jax is not None and jax.distributed.is_initialized()


def _number() -> int | None:
    otherwise = "process 0 may end first, and JAX then aborts the others"
    return private("jax._src.distributed:global_state.process_id", otherwise)  # process_index() might start the devices


def leave(status: int) -> None:
    """End here if others may wait for this process: no exit handlers."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    time.sleep(LAST_WORDS)
    if _in_a_cluster():
        time.sleep(FIRST_GOES_LAST * (_number() == 0))
        os._exit(status)
