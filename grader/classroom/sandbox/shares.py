"""Give each sandbox an equal share of the processors, however many processes it starts, through control groups.

This needs the right to make groups: as root, or in a group that systemd has delegated to us, as with
`systemd-run --user --scope -p Delegate=yes python -m lessons class …`. Sources: the kernel's documentation,
admin-guide/cgroup-v2 (no processes in a group with controlled children) and admin-guide/cgroup-v1/cgroups.
"""

import contextlib
import itertools
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from minipod.processes.cgroups import group_of_this_process

PROCESSES = "cgroup.procs"
WRITE = 'echo $$ 2>/dev/null >"$0"'
ENTER = f'{WRITE}; exec "$@"'  # the shell becomes the program, in its group
PATIENCE = 2.0  # seconds for a group's processes to be gone
_numbers = itertools.count()


class Shares:
    """The group in which the sandboxes' groups are made."""

    def __init__(self, above: Path) -> None:
        self._above, self._groups = above, list[Path]()

    def enter(self, command: list[str]) -> list[str]:
        """Return the command line that runs `command` in a group of its own; unchanged if no group could be made."""
        group = self._above / f"minipod-{os.getpid()}-{next(_numbers)}"
        try:
            group.mkdir()
        except OSError:
            return command
        self._groups.append(group)
        return ["/bin/sh", "-c", ENTER, str(group / PROCESSES), *command]

    def work(self) -> bool:
        """Return whether a process can be put into its own group: a container's groups may be visible but read-only."""
        command = self.enter([])
        if not command:
            return False
        *shell, _, procs = command
        return subprocess.run([*shell, WRITE, procs], stdin=subprocess.DEVNULL, capture_output=True).returncode == 0

    def close(self) -> None:
        """Remove the groups, whose processes have ended by now: the kernel removes only empty groups."""
        end = time.monotonic() + PATIENCE
        while True:
            for group in list(self._groups):
                with contextlib.suppress(OSError):
                    group.rmdir()
                    self._groups.remove(group)
            if not self._groups or time.monotonic() >= end:
                return
            time.sleep(0.02)


@contextlib.contextmanager
def made(root: Path = Path("/")) -> Iterator[Shares | None]:
    """Make shares for the sandboxes that are opened in the block; yield None if this process may not make groups."""
    with contextlib.ExitStack() as stack:
        above = _first(root) or stack.enter_context(_second(root))
        shares = Shares(above) if above else None
        if shares:
            stack.callback(shares.close)
        yield shares if shares and shares.work() else None


def _first(root: Path) -> Path | None:
    """Make groups in version 1, in which a group may contain both processes and groups."""
    group = group_of_this_process(root, "cgroup", "cpu", "cpu")
    return group.place if group and (group.place / PROCESSES).exists() else None


@contextlib.contextmanager
def _second(root: Path) -> Iterator[Path | None]:
    """Make groups in version 2, in which a parent group has no processes, so we move into a group of our own."""
    group = group_of_this_process(root, "cgroup2", "rw")
    place = group.place if group else None
    leaf, pid = (place or root) / f"minipod-{os.getpid()}", str(os.getpid())
    try:
        if not place or "cpu" not in (place / "cgroup.controllers").read_text().split():
            raise OSError
        leaf.mkdir()
        (leaf / PROCESSES).write_text(pid)
        (place / "cgroup.subtree_control").write_text("+cpu")
    except OSError:
        _leave(place, leaf, pid)
        yield None
        return
    try:
        yield place
    finally:
        with contextlib.suppress(OSError):
            (place / "cgroup.subtree_control").write_text("-cpu")
        _leave(place, leaf, pid)


def _leave(place: Path | None, leaf: Path, pid: str) -> None:
    with contextlib.suppress(OSError):
        if place and leaf.exists():
            (place / PROCESSES).write_text(pid)
            leaf.rmdir()
