"""A cluster on this machine: `run` starts a program in several processes, and leaves nothing behind."""

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
from minipod.cluster.result import Run, summary

__all__ = [
    "HEARTBEAT", "ClusterError", "Heartbeat", "Run", "check_numbers", "check_port", "find", "find_module",
    "launch_arguments", "run", "summary",
]  # fmt: skip
