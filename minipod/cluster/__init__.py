"""Run a program as a cluster on this machine: `run` starts it in several processes and leaves nothing running.

Use it to try a program as it will run on a real cluster. `launch_arguments` works with every launcher.

    >>> from pathlib import Path
    >>> from minipod import cluster
    >>> length = Path("hello.py").write_text('''
    ... import jax
    ... from minipod.cluster import launch_arguments
    ... jax.distributed.initialize(**launch_arguments())
    ... print("process", jax.process_index(), "sees", jax.device_count(), "devices")
    ... ''')
    >>> done = cluster.run("hello.py", processes=2, devices=4)
    >>> print(*done.outputs, sep="", end="")
    process 0 sees 8 devices
    process 1 sees 8 devices
"""

from minipod.cluster.arguments import HEARTBEAT, launch_arguments
from minipod.cluster.heartbeat import Heartbeat
from minipod.cluster.launch import (
    ClusterError,
    check_numbers,
    check_port,
    find,
    find_module,
    run,
)
from minipod.cluster.place import missed_launcher
from minipod.cluster.result import Run, summary

__all__ = [
    "HEARTBEAT", "ClusterError", "Heartbeat", "Run", "check_numbers", "check_port", "find", "find_module",
    "launch_arguments", "missed_launcher", "run", "summary",
]  # fmt: skip
