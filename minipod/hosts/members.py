"""Processes that are forked here and then live on pretend hosts: what `nsenter` does for a program."""

import ctypes
import os
from collections.abc import Sequence
from dataclasses import dataclass

from minipod.hosts.namespaces import ADDRESS, OWN

_moved: list[int] = []  # this process, once it is on a host
_NAMES = {"--net": "net", "--uts": "uts", "--mount": "mnt"}


def moved() -> bool:
    """Whether this process is on a host of its own."""
    return bool(_moved)


@dataclass(frozen=True)
class Members:
    """The processes of a cluster, in equal parts on the hosts that `pids` hold: the first of them on host0."""

    pids: Sequence[int]
    processes: int

    def address(self, process: int) -> str:
        """Where others reach this process; of process 0, the coordinator's."""
        return ADDRESS.format(self._host(process) + 1)

    def enter(self, process: int) -> None:
        """Move the calling process, which must not have started a thread, to its host. OSError where that cannot be."""
        pid, here = self.pids[self._host(process)], os.getcwd()
        library = ctypes.CDLL(None, use_errno=True)  # os.setns is Python 3.12's
        kinds = [*(["user"] if os.geteuid() else []), *(_NAMES[own] for own in OWN)]
        files = [os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC) for kind in kinds]
        try:
            for kind, file in zip(kinds, files, strict=True):
                if library.setns(file, 0):
                    number = ctypes.get_errno()
                    raise OSError(number, f"process {process} cannot join a host's {kind}: {os.strerror(number)}")
        finally:
            for file in files:
                os.close(file)
        os.chdir(here)  # a namespace of mounts begins at its root
        _moved.append(process)

    def _host(self, process: int) -> int:
        return process * len(self.pids) // self.processes
