"""Start other processes: their environment, how they end, their lines of output, and free ports.

This is for programs that start other programs and leave none behind when they are killed.

    >>> from minipod import processes
    >>> processes.try_port(processes.free_port())  # OSError if it is taken
"""

from minipod.processes.ports import free_port, slots, try_port, wait_for_listener
from minipod.processes.reaping import (
    adopt_orphans,
    children,
    die_with_parent,
    interrupt_later,
    kill_children,
    kill_group,
    signal_only_own,
)
from minipod.processes.supervisor import Program, close_inherited, end_child, fork

__all__ = [
    "Program", "adopt_orphans", "children", "close_inherited", "die_with_parent", "end_child", "fork", "free_port",
    "interrupt_later", "kill_children", "kill_group", "signal_only_own", "slots", "try_port",
    "wait_for_listener",
]  # fmt: skip
