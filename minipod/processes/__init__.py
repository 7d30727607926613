"""What every part that starts processes needs: their environment, their ends, their lines, a free port."""

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

__all__ = [
    "adopt_orphans", "children", "die_with_parent", "free_port", "interrupt_later", "kill_children", "kill_group",
    "signal_only_own", "slots", "try_port", "wait_for_listener",
]  # fmt: skip
