"""Run a function in forked children: one process, or several that form one `jax.distributed` cluster.

The parent has JAX imported but has started no backend; a child is ready in about 20 ms, a pair in about 100 ms.
Whatever the function does (endless loops, `os._exit`, endless printing, a crash), it ends with a `Result`, and nothing
is left running: the child's process group is killed, then every orphan it left (Linux).

    result, = run(lambda: jax.device_count())           # Result(status="ok", value=8, …)
    results = run(psum, processes=2, devices=4)         # one Result per process

Several jobs may run at once: `start` them all, then `wait` for each.
"""

import contextlib
import json
import math
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from minipod import processes as _processes
from minipod.forked.child import CLOSED, COLLECTIVE_TIMEOUT, READY, SPOILT, Places, serve
from minipod.processes.hang import Idle, used_by_computation
from minipod.processes.memory_watch import Watch

KEEP = 64_000  # bytes of output kept of each process
ENDLESS = 10_000_000  # bytes of output that end a process
LARGEST = 100_000_000  # bytes of result that end a process
GRACE = 2.0  # seconds for the others once a process of a cluster has died
PATIENCE = 5.0  # seconds for the others once a process has finished: a first collective would wait for minutes
OWN = 1.0  # GiB for Python and JAX themselves, where all processes of a child are counted
IDLE = 1.0  # seconds without work after which they have had enough of it; who computes goes on to the limit


@dataclass
class Result:
    """How one process ended.

    status  "ok": `value` is what the function returned (JSON data) · "raised": `text` is the error, in Python's words
            "died": it ended the process itself, `text` is `exit code 3` or `SIGSEGV`
            "closed": it closed the pipe of the result · "garbled": it wrote something else into it
            "spoilt": it replaced what the child itself needs
            "large": its result has more than LARGEST bytes · "printed": it printed more than ENDLESS bytes
            "memory": with all processes that it started, it held more than JAX needs plus `memory` (Linux)
            "hung": still running at the limit, or long after the others; `text` is faulthandler's traceback
            "left": ended after a peer had died
    output  the first KEEP bytes of stdout and stderr
    ready   whether JAX, and with it the cluster, had started before that; seconds: from the start of the job
    """

    status: str
    value: Any = None
    text: str = ""
    output: str = ""
    ready: bool = True
    seconds: float = 0.0


@dataclass
class _Member:
    pid: int
    pipe: int
    out: int
    data: bytearray = field(default_factory=bytearray)
    output: bytes = b""
    printed: int = 0
    ready: bool = False
    result: Result | None = None
    exit: int | None = None

    def __post_init__(self) -> None:
        self.idle = Idle(lambda: used_by_computation(self.pid, set()))


@dataclass
class Job:
    """Children that are running. `wait(job)` returns their results."""

    members: list[_Member]
    born: float
    deadline: float
    before: frozenset[int]  # the parent's other children, which are none of our business
    results: list[Result] = field(default_factory=list)
    memory: float = 2.0  # GiB for each child and what it starts
    patience: float = PATIENCE
    grace: float = GRACE
    then: Callable[[], object] | None = None
    peer_died: float | None = None
    peer_done: float | None = None


_live: list[Job] = []
_memory = Watch()
on_turn: list[Callable[[], object]] = []  # called while `wait` waits; one that raises stops every job


def run(
    function: Callable[[], Any],
    processes: int = 1,
    devices: int | None = 8,
    seconds: float = 20.0,
    memory: float = 2.0,
    patience: float = PATIENCE,
) -> list[Result]:
    """Call `function` in each of `processes` forked children with `devices` simulated devices each, and wait.

    devices   None: the machine's own; possibly only one process at a time can use them
    function  takes nothing, returns JSON data; with two processes or more it may use `jax.process_index()`
    seconds   the limit on the wall clock
    memory    GiB that a child and its descendants may use beyond what JAX uses once it has started (Linux; CPU only)
    patience  seconds that the other processes get once one has finished
    """
    return wait(start(function, processes, devices, seconds, memory, patience))


def start(
    function: Callable[[], Any],
    processes: int = 1,
    devices: int | None = 8,
    seconds: float = 20.0,
    memory: float = 2.0,
    patience: float = PATIENCE,
    then: Callable[[], object] | None = None,
    collective: int = COLLECTIVE_TIMEOUT,
    grace: float = GRACE,
    places: Places | None = None,
    files: bool = False,
) -> Job:
    """Start a job like `run`, and return at once. `then` is called when the job has ended, unless it was stopped.

    collective  seconds that a collective waits for the other processes
    grace       seconds that the other processes get once one has died
    places      the hosts on which the processes run; None: all on this one
    files       whether files that are open in this process stay open in the children
    """
    port = _processes.free_port() if processes > 1 else 0
    if not _live:
        _processes.adopt_orphans()
    ours = {member.pid for job in _live for member in job.members}
    before = frozenset(_processes.children()) - ours
    sys.stdout.flush()
    sys.stderr.flush()
    now = time.monotonic()
    most = memory if devices else math.inf  # an accelerator's runtime has host memory, too: there nothing is limited
    job = Job([], now, now + seconds, before, memory=most, patience=patience, grace=grace, then=then)
    _live.append(job)
    try:
        with _processes.interrupt_later():
            for rank in range(processes):
                job.members.append(_fork(function, files, rank, processes, devices, port, memory, collective, places))
    except BaseException:  # no process or no pipe for the second one, for instance
        stop(job)
        raise
    return job


def _fork(function: Callable[[], Any], files: bool, *cluster: Any) -> _Member:
    """Fork a child that calls `function`. Raises OSError if that is impossible."""
    ends: list[int] = []
    try:
        for _ in ("pipe", "out"):
            ends.extend(os.pipe())
        pid = _processes.fork()
        if pid == 0:
            serve(function, ends[1], ends[3], files, *cluster)
    except OSError:
        for end in ends:
            os.close(end)
        raise
    for end in ends[1::2]:
        os.close(end)
    for end in ends[::2]:
        os.set_blocking(end, False)
    return _Member(pid, pipe=ends[0], out=ends[2])


def wait(job: Job) -> list[Result]:
    """Wait for a job's processes and return their results, in order. Other live jobs are still read and limited."""
    try:
        while job in _live:
            _turn()
            for look in on_turn:
                look()
    except BaseException:
        stop_all()
        raise
    return job.results


def stop(job: Job) -> None:
    """End a job if it is still running."""
    if job in _live:
        _end(job)


def stop_all() -> None:
    """End every live job, for instance when the parent is interrupted."""
    for job in list(_live):
        _end(job)


def _turn() -> None:
    """Read what there is, then settle the jobs that have ended or are over a limit."""
    poll = select.poll()
    readers: dict[int, tuple[_Member, str]] = {}
    for job in _live:
        for member in job.members:
            for kind in ("pipe", "out"):
                if (fd := getattr(member, kind)) >= 0 and not (kind == "pipe" and member.result):
                    readers[fd] = (member, kind)
                    poll.register(fd, select.POLLIN)
    for fd, _ in poll.poll(30):
        _read(fd, *readers[fd])
    now = time.monotonic()
    enough = min((OWN + job.memory for job in _live), default=0.0) * 2**30
    used = _memory.look([m.pid for job in _live for m in job.members if not m.result], enough)
    for job in list(_live):
        for member in job.members:
            _settle(job, member, now, used.get(member.pid, 0) / 2**30)
        if any(m.result and m.result.status not in ("ok", "raised") for m in job.members):
            job.peer_died = job.peer_died or now
        if any(m.result for m in job.members):
            job.peer_done = job.peer_done or now
        if all(m.result for m in job.members):
            _end(job)
            if job.then:
                job.then()


def _read(fd: int, member: _Member, kind: str) -> None:
    with contextlib.suppress(BlockingIOError):
        data = os.read(fd, 1 << 20)
        if not data:
            os.close(fd)
            setattr(member, kind, -1)
        elif kind == "out":
            member.printed += len(data)
            member.output = (member.output + data)[:KEEP]
        else:
            if not member.ready and data.startswith(READY):
                member.ready, data = True, data[1:]
            member.data += data


def _settle(job: Job, member: _Member, now: float, held: float) -> None:
    """Give the member its result if it has one, has ended, or is over a limit. held: GiB, 0 if not measured."""
    if member.result:
        return
    seconds = now - job.born
    if member.data.endswith(b"\n") and member.data[:1] == b"{":
        member.result = _parsed(member)
        member.result.seconds = seconds
        return
    if member.exit is None:
        pid, status = os.waitpid(member.pid, os.WNOHANG)
        if pid:
            member.exit = status
            return  # one more turn: its last words may still be in the pipe
    if member.exit is not None:
        code = os.waitstatus_to_exitcode(member.exit)
        text = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        ends = {CLOSED: "closed", SPOILT: "spoilt"} if member.ready else {}
        status = ends.get(code, "garbled" if member.data else "died")
        member.result = Result(status, text=text, ready=member.ready, seconds=seconds)
    elif len(member.data) > LARGEST:
        member.result = Result("large", text=f"{LARGEST // 1_000_000} MB", ready=member.ready, seconds=seconds)
    elif member.printed > ENDLESS:
        member.result = Result("printed", text=f"{ENDLESS // 1_000_000} MB", ready=member.ready, seconds=seconds)
    elif held > OWN + job.memory:
        member.result = Result("memory", text=f"{job.memory:g} GiB", ready=member.ready, seconds=seconds)
    elif now > job.deadline or (_left_alone(job, now) and member.idle.seconds() > IDLE):
        member.result = Result("hung", text=_stack(member), ready=member.ready, seconds=seconds)
    elif job.peer_died and now > job.peer_died + job.grace:
        member.result = Result("left", text=_stack(member), ready=member.ready, seconds=seconds)


def _left_alone(job: Job, now: float) -> bool:
    """Return whether a process finished so long ago that the others, if they wait, wait in vain."""
    return bool(job.peer_done and not job.peer_died and now > job.peer_done + job.patience)


def _parsed(member: _Member) -> Result:
    """Return the result in the pipe, if nothing else was written into it."""
    try:
        data = json.loads(member.data)
        return Result(data["status"], data.get("value"), str(data.get("text", "")), ready=member.ready)
    except (ValueError, KeyError, RecursionError):
        return Result("garbled", ready=member.ready)


def _stack(member: _Member) -> str:
    """Return faulthandler's traceback of a running child, which a signal makes it write into the pipe."""
    if member.pipe < 0 or not member.ready:
        return ""
    os.kill(member.pid, signal.SIGUSR1)
    end = time.monotonic() + 2  # it comes within milliseconds, on a busy machine later
    while time.monotonic() < end and b"\n\n" not in member.data:
        if select.select([member.pipe], [], [], 0.05)[0]:
            _read(member.pipe, member, "pipe")
            if member.pipe < 0:
                break
        elif b"File" in member.data:
            break
    return member.data.decode("unicode_escape", errors="replace")  # as faulthandler writes a path that is not ASCII


def _end(job: Job) -> None:
    """Kill what is left of a job, and collect its results."""
    with _processes.interrupt_later():
        _end_all_of(job)


def _end_all_of(job: Job) -> None:
    _live.remove(job)
    for member in job.members:
        if member.exit is None:
            _processes.end_child(member.pid)
        else:
            _processes.kill_group(member.pid)
        if member.out >= 0:
            _read(member.out, member, "out")
        for fd in (member.pipe, member.out):
            if fd >= 0:
                os.close(fd)
        member.result = member.result or Result("left", ready=member.ready)
        member.result.output = member.output.decode(errors="replace")
    job.results = [member.result for member in job.members if member.result]
    others = {member.pid for other in _live for member in other.members}
    _processes.kill_children(spare=job.before | others)
