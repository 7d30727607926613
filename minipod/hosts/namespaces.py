"""Make hosts from Linux namespaces, each with its own network, name and /etc/hosts, and the cables between them.

Each host is held by a process that waits for the end of a pipe from us. Nothing has a name outside: when this process
ends, however it ends, the pipes close, those processes end, and the kernel removes the namespaces with all that is in
them. Sources: `man 7 network_namespaces`, `man 1 unshare`, `man 1 nsenter`, `man 8 tc-tbf`.
"""

import contextlib
import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from minipod.processes import Program, environment

NEEDED = {"ip": "iproute2", "tc": "iproute2", "nsenter": "util-linux", "unshare": "util-linux", "hostname": "hostname"}
OWN = ("--net", "--uts", "--mount")  # what a host has of its own
_KINDS = {"--net": "net", "--uts": "uts", "--mount": "mnt"}  # as /proc/PID/ns has them
ADDRESS = "10.77.0.{}"  # seen only inside
PATIENCE = 10.0  # seconds for a holder to end once its pipe has closed
TUN = Path("/dev/net/tun")  # what a cable with a delay is made of

_UP = "ip link set {0} addrgenmode none; ip link set {0} up"  # without the chatter of IPv6
_SWITCH = f"ip link add switch type bridge mcast_snooping 0; {_UP.format('switch')}"
_HOLD = "echo ready; exec cat >/dev/null 2>&1"


def why_not(delay: bool = False) -> str | None:
    """Return why this machine cannot make hosts (`delay`: with a delay between them), in one sentence; None if it can.

    Hosts are made as a trial, in namespaces that are gone afterwards.
    """
    if sys.platform != "linux":
        return "simulated hosts need Linux"
    for command, package in NEEDED.items():
        if shutil.which(command, path=environment.search_path()) is None:
            return f"simulated hosts need the command {command}: install it (Debian's package {package})"
    trial = f"hostname host0; mount -t tmpfs none /mnt; {_SWITCH}; {_plug(0, '$$')}; {_limit(1e6)}"
    command = [*_first(), *OWN, "sh", "-ec", trial]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=_with_commands())
    if done.returncode:
        advice = ": try as root" if os.geteuid() else ""
        reason = done.stderr.strip().partition("\n")[0] or f"exit status {done.returncode}"
        return f"hosts cannot be made here ({reason}){advice}"
    if delay and not TUN.exists():
        return f"a delay needs {TUN}, which is missing here: leave the delay out"
    if delay and not os.access(TUN, os.R_OK | os.W_OK):
        return f"a delay needs {TUN}, which this user may not open: leave the delay out, or try as root"
    return None


@contextlib.contextmanager
def hosts(count: int, rate: float | None, delay: float) -> Iterator[list[int]]:
    """Make `count` hosts on one switch; yield the pids of their holders. `host0` is at 10.77.0.1, `host1` at 10.77.0.2.

    rate: bits per second that each may send, None: no limit; delay: seconds from host to host, one way.
    The hosts are gone when the block ends. Raises PermissionError if they cannot be made.
    """
    if reason := why_not(delay > 0):
        raise PermissionError(reason)
    with contextlib.ExitStack() as held:
        switch = held.enter_context(Holder([*_first(), "--net", "sh", "-ec", f"{_SWITCH}; {_HOLD}"]))
        switch.ready()
        inside = enter(switch.pid, "--net")
        command = [*enter(switch.pid), "unshare", *OWN, "sh", "-ec"]
        holders = [held.enter_context(Holder([*command, _host(i, count, rate)])) for i in range(count)]
        pids = [holder.pid for holder in holders]
        for holder in holders:
            holder.ready()
        if delay:
            cable = [sys.executable, "-P", "-m", "minipod.hosts.cable", str(delay), *map(str, pids)]
            held.enter_context(Holder([*inside, *cable])).ready()
        else:
            plugs = "; ".join(_plug(i, pid) for i, pid in enumerate(pids))
            held.enter_context(Holder([*inside, "sh", "-ec", f"{plugs}; {_HOLD}"])).ready()
        for holder in holders:
            holder.go_on()
            holder.ready()
        yield pids


def enter(pid: int, *which: str) -> list[str]:
    """Return the prefix for a command that is to run in the namespaces `which` of the process `pid`."""
    user = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
    return ["nsenter", f"--target={pid}", *user, *which] if user or which else []


def sent(pid: int, interface: str = "eth0") -> int:
    """Return the bytes sent by an interface of the host held by `pid`, headers included, from /proc/PID/net/dev."""
    lines = Path(f"/proc/{pid}/net/dev").read_text().splitlines()
    return next(int(line.split()[9]) for line in lines if line.split()[0] == f"{interface}:")


class Holder:
    """A process that ends when the pipe to it closes: at the end of the block, or when this process ends."""

    def __init__(self, command: Sequence[str]):
        output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        self.program = Program(command, env=_with_commands(), **output)
        self.pid = self.program.pid

    def __enter__(self) -> "Holder":
        return self

    def __exit__(self, *_: object) -> None:
        self.program.end(PATIENCE)
        if self.program.stdout:
            self.program.stdout.close()

    def ready(self) -> None:
        """Wait until the process prints `ready`. Raises PermissionError if it prints anything else."""
        assert self.program.stdout
        line = self.program.stdout.readline().decode(errors="replace")
        if line != "ready\n":
            raise PermissionError(f"hosts cannot be made here: {line.strip() or 'a process ended without a message'}")

    def go_on(self) -> None:
        """Send the line that the process waits for."""
        assert self.program.stdin
        self.program.stdin.write(b"\n")
        self.program.stdin.flush()


def _with_commands() -> dict[str, str]:
    """Return our environment, with the system's commands on PATH."""
    return {**os.environ, "PATH": environment.search_path()}


def _first() -> list[str]:
    """Return the `unshare` command; for a user who is not root, with a user namespace in which they are."""
    return ["unshare", *(["--user", "--map-root-user"] if os.geteuid() else [])]


def _host(i: int, count: int, rate: float | None) -> str:
    """Return the script of host i's holder: its name, the names of all, and, once it is plugged in, its network."""
    names = "".join(f"{ADDRESS.format(k + 1)} host{k}\\n" for k in range(count))
    return (
        f"hostname host{i}; mount -t tmpfs none /mnt; printf '127.0.0.1 localhost\\n{names}' >/mnt/hosts; "
        "mount --bind /mnt/hosts /etc/hosts; umount -l /mnt; echo ready; read go; "
        f"ip link set lo up; ip addr add {ADDRESS.format(i + 1)}/24 dev eth0; {_UP.format('eth0')}; "
        + (f"{_limit(rate)}; " if rate else "")
        + _HOLD
    )


def _plug(i: int, pid: int | str) -> str:
    """Return the commands for a cable from the switch to the host that `pid` holds."""
    port = f"port{i}"
    return (
        f"ip link add {port} type veth peer name eth0 netns {pid}; ip link set {port} master switch; {_UP.format(port)}"
    )


def _limit(rate: float) -> str:
    """Limit eth0 to `rate` bits per second; bursts last 1 ms or two frames, so that it limits small messages, too."""
    burst = max(2 * 1514, round(rate / 8 * 1e-3))
    return f"tc qdisc add dev eth0 root tbf rate {rate:.0f}bit burst {burst} limit 32mb"


_moved: list[int] = []  # this process, once it is on a host


def moved() -> bool:
    """Return whether this process has been moved to a simulated host."""
    return bool(_moved)


@dataclass(frozen=True)
class Members:
    """The processes of a cluster, in equal parts on the hosts that `pids` hold, the first part on host0."""

    pids: Sequence[int]
    processes: int

    def address(self, process: int) -> str:
        """Return the address at which others reach a process; process 0's is the coordinator's, too."""
        return ADDRESS.format(self._host(process) + 1)

    def enter(self, process: int) -> None:
        """Move the calling process, which must not have started a thread, to its host. Raises OSError if that fails."""
        pid, here = self.pids[self._host(process)], os.getcwd()
        library = ctypes.CDLL(None, use_errno=True)  # os.setns is Python 3.12's
        kinds = [*(["user"] if os.geteuid() else []), *(_KINDS[namespace] for namespace in OWN)]
        files = [os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC) for kind in kinds]
        try:
            for kind, file in zip(kinds, files, strict=True):
                if library.setns(file, 0):
                    number = ctypes.get_errno()
                    raise OSError(
                        number, f"process {process} cannot join a host's {kind} namespace: {os.strerror(number)}"
                    )
        finally:
            for file in files:
                os.close(file)
        os.chdir(here)  # a namespace of mounts begins at its root
        _moved.append(process)

    def _host(self, process: int) -> int:
        return process * len(self.pids) // self.processes
