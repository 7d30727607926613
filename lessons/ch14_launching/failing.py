"""python failing.py WAY: a small training that goes wrong in one of the ways of
WAYS, in process 1 unless something else is said."""

import faulthandler
import importlib
import os
import signal
import sys
import time

WAYS = {  # and the words that say so, in the log
    "raises in all": "record 17 is broken",
    "raises": "record 17 is broken",
    "raises before initialize": "there is no data here",
    "lacks a package": "No module named 'not_installed'",
    "sys.exit(2)": "process 1 leaves with 2",
    "SIGKILL": "",  # who is killed says nothing
    "SIGSTOP": "failing.py",  # the others' stacks, after LIMIT
    "disk hangs": "look",  # its own stack, after half of LIMIT
    "60 s late": "",
}
LIMIT = 10  # seconds for a step: the program's own watchdog


def look():
    """At a disk that is not there any more; it has less time than a step, or
    the others' watchdogs would come first."""
    limit(LIMIT // 2)
    time.sleep(1000)


def limit(seconds):
    """Show all stacks then, and end by SIGALRM a second later: with `exit=True`
    it is at once, and mpirun drops what was said last. 0: no limit any more.
    """
    faulthandler.cancel_dump_traceback_later()
    if seconds:
        faulthandler.dump_traceback_later(seconds)
    signal.alarm(seconds + (seconds > 0))


def main(way):
    import jax
    import numpy as np
    from jax.experimental import multihost_utils

    from minipod.cluster import launch_arguments
    from minipod.cluster.place import place

    _, me = place()
    if me == 1 and way == "raises before initialize":
        raise FileNotFoundError("there is no data here")
    if me == 1 and way == "lacks a package":
        importlib.import_module("not_installed")
    if me == 1 and way == "60 s late":
        time.sleep(60)
    jax.distributed.initialize(**launch_arguments())
    for step in range(6):
        limit(LIMIT)
        multihost_utils.process_allgather(np.ones(2))
        if step != 3 or (me == 0 and way != "raises in all"):
            continue
        if way.startswith("raises"):
            raise ValueError("record 17 is broken")
        if way == "sys.exit(2)":
            print("process 1 leaves with 2")
            sys.exit(2)
        if way.startswith("SIG"):
            os.kill(os.getpid(), getattr(signal, way))
        if way == "disk hangs":
            look()
    limit(0)


if __name__ == "__main__":
    main(sys.argv[1])
