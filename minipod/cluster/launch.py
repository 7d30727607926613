"""Run a program in several processes on this machine, as a cluster would, and leave nothing running.

Every process is started through `minipod.cluster.inside`. The launcher (this process) reads their output and exit
codes, ends them all at the limit or soon after one has failed, and names the first failure in one sentence.
"""

import contextlib
import errno
import importlib.util
import math
import os
import resource
import selectors
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import PathFinder
from pathlib import Path

from minipod.cluster import placeholders
from minipod.cluster.failure import cannot_meet, first_failure
from minipod.cluster.process import ANSWER, Member, start
from minipod.cluster.result import Run
from minipod.processes import environment, free_port, slots, try_port

MAX_PROCESSES, MAX_DEVICES = 16, 1024
OPEN_FILES = 32  # that JAX needs in a process with a few peers; the launcher has four for each process
MACHINE = 64  # processes on the machine, of all runs together
GRACE = 3.0  # seconds that the others get after one has failed: they may be about to fail too, and to say why
IDLE = 1.0  # seconds without any work after which they will not
LEFT = 5.0  # seconds in a wait of JAX, once another has finished: then they wait for something that never comes


class ClusterError(RuntimeError):
    """Raised if a process fails. The message is the first failure in one sentence, then the output. run: the `Run`."""

    def __init__(self, run: Run):
        super().__init__(str(run.first_failure) + "\n" + run.printed())
        self.run = run


def run(
    program: str | os.PathLike[str],
    *arguments: str,
    processes: int = 2,
    devices: int = 4,
    limit: float = 60.0,
    check: bool = True,
    collective_timeout: int | None = None,
    env: Mapping[str, str | None] | Sequence[Mapping[str, str | None]] | None = None,
    module: bool = False,
    port: int | None = None,
    survivors: bool = False,
    show: Callable[[int, str], object] | None = None,
    address: str = "127.0.0.1",
    places: Sequence[Sequence[str]] = (),
) -> Run:
    """Run `program` in `processes` processes with `devices` simulated CPU devices each, and wait for them.

    program  a path, looked up in the current folder, then next to the running script; with `module` true, the name of
             a module
    arguments  of the program; `{process}`, `{processes}` and `{coordinator}` become the number of the process,
             the number of processes, and a free address for process 0. `{{name}}` gives `{name}`; other braces stay
    limit    seconds after which all processes are ended
    check    whether to raise ClusterError when a process fails
    collective_timeout  seconds after which a collective that waits for a lost process raises an error in the program
    env      variables to add to the environment, or to remove if the value is None; a sequence has one dict for each
             process
    port     the coordinator's port on 127.0.0.1; None: a free one
    survivors  whether the other processes go on when one has failed
    show     called as `show(process, line)` for each line when it is printed
    places   for each process, a prefix of its command that moves it elsewhere, such as into another network;
             `address` is the address of process 0 there. `minipod.hosts` uses both

    All processes are also ended soon after one has failed; when they can never meet, as when two have the same number;
    and when one has finished and all others have waited in JAX for 5 seconds (`minipod.processes.hang`). A process that
    sleeps or writes a file may finish. A program that has finished counts as successful even if JAX hangs at exit.

    Before anything starts, raises ValueError for an impossible number, a taken port or an unknown `{name}`,
    FileNotFoundError for a missing program, OSError if this shell allows too few open files, TimeoutError if too many
    processes already run on this machine.
    """
    check_numbers(processes, devices, limit, collective_timeout)
    check_open_files(processes)
    command = ["-m", find_module(str(program))] if module else [str(find(program))]
    coordinator = f"{address}:{check_port(port) if port else free_port()}"
    arguments_of = [placeholders.fill(arguments, index, processes, coordinator) for index in range(processes)]
    environments = _environments(env, processes)
    for index, variables in enumerate(environments):
        variables |= {
            "JAX_PLATFORMS": "cpu",
            "JAX_NUM_CPU_DEVICES": str(devices),
            "PYTHONUNBUFFERED": "1",
            "MINIPOD_COORDINATOR": coordinator,
            "MINIPOD_PROCESSES": str(processes),
            "MINIPOD_PROCESS": str(index),
            "MINIPOD_LIMIT": str(math.ceil(limit)),
        }
        environment.without_proxy(variables, address)
        if collective_timeout:
            environment.limit_collectives(variables, collective_timeout)
    members: list[Member] = []
    with slots(processes, MACHINE), selectors.DefaultSelector() as channels:
        began = time.monotonic()
        try:
            for index, variables in enumerate(environments):
                place = places[index] if places else ()
                members.append(start(index, [*command, *arguments_of[index]], variables, channels, show, place))
            late = _watch(members, channels, began + limit, math.inf if survivors else collective_timeout or 0)
            stuck = [m for m in members if m.running]
            _ask_where(stuck, channels)
            failure = first_failure(members, stuck, limit if late else None)
        finally:
            _end(members, channels)
    result = Run(
        outputs=[m.printed() for m in members],
        codes=[m.code for m in members],
        seconds=time.monotonic() - began,
        stacks=[m.stack_text() for m in members],
        first_failure=failure.sentence if failure else None,
        exit_code=failure.exit_code if failure else 0,
        apart=processes > 1 and all(m.report.get("computed") and "joins" not in m.report for m in members),
    )
    if check and failure:
        raise ClusterError(result)
    return result


def _environments(
    env: Mapping[str, str | None] | Sequence[Mapping[str, str | None]] | None, processes: int
) -> list[dict[str, str]]:
    """Return each process's environment: this one's, changed by `env`. ValueError for a wrong number of them."""
    additions = list(env) if isinstance(env, Sequence) else [env or {}] * processes
    if len(additions) != processes:
        raise ValueError(f"env must have one mapping for each process ({processes}), not {len(additions)}")
    asked = [{**os.environ, **more} for more in additions]
    return [{name: value for name, value in each.items() if value is not None} for each in asked]


def _end(members: list[Member], channels: selectors.BaseSelector) -> None:
    """End all processes at once, and read what is still in their pipes."""
    for member in members:
        member.stop()  # or the last to be ended would tell of the end of the first
    for member in members:
        member.popen.let_go()
    for member in members:
        member.end()
    end = time.monotonic() + 1.0
    while channels.get_map() and time.monotonic() < end:
        _pump(channels, 0.05)
    for key in list(channels.get_map().values()):  # held open by something that escaped
        os.close(key.fd)


def _watch(members: list[Member], channels: selectors.BaseSelector, end: float, patience: float) -> bool:
    """Read and wait until all have ended or waiting is pointless. Return True if the limit was reached.

    The programs get `patience` seconds in which to run into a timeout of their own.
    """
    extra = patience + 2 if patience else 0
    failed_at = None
    while any(m.running for m in members):
        now = time.monotonic()
        if now > end:
            return True
        if patience < math.inf and cannot_meet(members):
            return False
        working = [m for m in members if m.working]
        idle = min((m.idle_for() for m in working), default=0.0)
        if failed_at is None and any(m.failed for m in members):
            failed_at = now
        if failed_at is not None and (now > failed_at + GRACE + extra or idle > IDLE + extra):
            return False
        if len(working) < len(members):
            # If none is working, all have done their work; what hangs is JAX on its way out, once in a hundred runs.
            if all([m.hangs(LEFT + (extra if working else 0)) for m in working or members if m.running]):
                return False
        _pump(channels, 0.02)
    return False


def _pump(channels: selectors.BaseSelector, seconds: float) -> None:
    """Pass on what the processes have written, waiting at most `seconds` for output."""
    if not channels.get_map():
        time.sleep(seconds)
        return
    for key, _ in channels.select(seconds):
        key.data()


def _ask_where(members: list[Member], channels: selectors.BaseSelector) -> None:
    """Ask each process for the stack of its main thread, and give them a moment to answer."""
    asked = [m for m in members if m.working and m.ask_where()]
    end = time.monotonic() + ANSWER
    while any(m.where() is None for m in asked) and time.monotonic() < end:
        _pump(channels, 0.02)


def find(program: str | os.PathLike[str]) -> Path:
    """Find the program's file in the current folder or next to the running script. Raises FileNotFoundError."""
    path = Path(program)
    beside = Path(getattr(sys.modules["__main__"], "__file__", None) or ".").parent / path
    for place in (path, beside):
        if place.is_file():
            return place
    where = f" in {Path.cwd()}" if not path.is_absolute() else ""
    what = "this is a folder, not a program" if path.is_dir() else f"there is no such program{where}"
    raise FileNotFoundError(f"{path}: {what}")


def find_module(name: str) -> str:
    """Return `name` if the current folder has such a module or `import` would find one; else raise FileNotFoundError.

    Only the first part of the name is looked for, since `find_spec` imports the packages that a module is in.
    """
    first = name.partition(".")[0]
    with contextlib.suppress(ValueError):  # an empty name, or one that is loaded and nobody has found, as __main__
        if PathFinder.find_spec(first, [os.getcwd()]) or importlib.util.find_spec(first):
            return name
    raise FileNotFoundError(f"{name}: there is no such module in {Path.cwd()}, and none is installed")


def check_numbers(processes: int, devices: int, limit: float, collective_timeout: int | None) -> None:
    """Raise ValueError for numbers that no run can have."""
    if not 1 <= processes <= MAX_PROCESSES:
        raise ValueError(f"{processes} processes: choose between 1 and {MAX_PROCESSES}")
    if devices < 1:
        raise ValueError(f"{devices} devices: each process needs at least 1")
    if processes * devices > MAX_DEVICES:
        raise ValueError(
            f"{processes} × {devices} = {processes * devices} devices: choose at most {MAX_DEVICES} in all"
        )
    check_limit(limit)
    if collective_timeout is not None and collective_timeout < 1:
        raise ValueError(f"collective timeout {collective_timeout}: at least 1 second is needed")


def check_limit(limit: float) -> None:
    """Raise ValueError unless `limit` is a positive, finite number of seconds."""
    if not limit > 0:
        raise ValueError(f"limit {limit:g}: a positive number of seconds is needed")
    if math.isinf(limit):
        raise ValueError("limit inf: a finite number of seconds is needed")


def check_open_files(processes: int) -> None:
    """Raise OSError if a process may open so few files that JAX or the launcher would fail halfway."""
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < OPEN_FILES + 4 * processes:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))


def check_port(port: int) -> int:
    """Return the port if a coordinator can listen on it here, else raise ValueError; ports below 1024 are refused."""
    if not 1024 <= port <= 65535:
        raise ValueError(f"port {port}: choose one between 1024 and 65535")
    try:
        try_port(port)
    except OSError as error:
        raise ValueError(
            f"port {port} cannot be used ({error.strerror}): choose a different port, or leave it out"
        ) from None
    return port
