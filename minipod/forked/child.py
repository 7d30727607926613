"""Run a child of `minipod.forked` from the fork to its end."""

import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from typing import Any, NoReturn, Protocol

from minipod import jax_private
from minipod import processes as _processes
from minipod.processes import environment, gloo, json_lines
from minipod.processes.supervisor import keep_only_files

COLLECTIVE_TIMEOUT = 5  # seconds a collective waits for the other process
PATIENCE = 300  # seconds for the other process to come: the parent's own limit is shorter, and starts on time
READY = b"\0"  # the child says: JAX is up, the function starts
CLOSED, SPOILT = 113, 114  # exit codes of a child that could not write its result, or not even make it
_kept: list[Any] = []  # pytest's replaced streams: closing them would write their buffers a second time


def serve(function: Callable[[], Any], pipe: int, out: int, files: bool, *cluster: Any) -> NoReturn:
    """Do everything that the child does, and never return. files: whether the parent's files stay open."""
    send, encode, sleep, leave = json_lines.send, json_lines.encode, time.sleep, os._exit  # before they are replaced
    own_pid, pid = os.getpid(), os.getpid
    code = SPOILT
    try:
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)  # whatever the parent does about it
            _streams(out, pipe, files)
            _start_jax(*cluster)
            _dump_on_signal(pipe)
            _processes.signal_only_own()
            send(pipe, READY)
            line = encode({"status": "ok", "value": function()})
        except BaseException as error:  # SystemExit and KeyboardInterrupt are the function's doing, too
            line = encode({"status": "raised", "text": _last_words(error)})
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except BaseException:
            pass  # the function may have put anything there
        if pid() != own_pid:
            leave(code)  # a process that the function forked, and that has come back from it
        try:
            send(pipe, line)
            code = 0
        except OSError:
            code = CLOSED
        while cluster[1] > 1 and code == 0:  # leaving now would abort the others: the parent ends us all together
            sleep(60)
    finally:
        leave(code)  # whatever happens: a child that came back from here would be a second parent


def _last_words(error: BaseException) -> str:
    message = "".join(traceback.format_exception_only(error)).strip()[:2000]
    traceback.clear_frames(error.__traceback__)  # lets go of what filled the memory
    return message


def _streams(out: int, pipe: int, files: bool) -> None:
    """Empty stdin, send stdout and stderr to the parent, and close everything else that the parent has open.

    files: whether its ordinary files stay open.
    """
    _kept.extend([sys.stdin, sys.stdout, sys.stderr])
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(out, 1)
    os.dup2(out, 2)
    if files:
        keep_only_files(pipe)
    else:
        _processes.close_inherited(pipe)
    sys.stdin = open(0, encoding="utf-8", closefd=False)
    sys.stdout = open(1, "w", encoding="utf-8", errors="replace", buffering=1, closefd=False)
    sys.stderr = open(2, "w", encoding="utf-8", errors="replace", buffering=1, closefd=False)


class Places(Protocol):
    """The hosts of a cluster's processes, if not all run here, such as `minipod.hosts.namespaces.Members`."""

    def enter(self, process: int) -> None: ...

    def address(self, process: int) -> str: ...


def _start_jax(
    rank: int, processes: int, devices: int | None, port: int, memory: float, collective: int, places: Places | None
) -> None:
    """Start the backend, in a cluster if there is more than one process; then set the limit on memory."""
    import jax

    if places:
        places.enter(rank)

    warnings.resetwarnings()  # pytest may have turned warnings into errors; here they are only printed
    if devices is None:
        os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"  # or what runs next finds a GPU's memory taken
        jax.config.update("jax_default_matmul_precision", "highest")
    else:
        os.environ["JAX_PLATFORMS"] = "cpu"
        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_num_cpu_devices", devices)
        jax_private.skip_plugins()
    if processes > 1:
        environment.limit_collectives(os.environ, collective)
        environment.without_proxy(os.environ)
        environment.silence_proxy_warning()
        gloo.listen_on(places.address(rank) if places else "127.0.0.1")
        address = f"{places.address(0) if places else '127.0.0.1'}:{port}"
        if rank:
            _processes.wait_for_listener(address, PATIENCE)
        jax.distributed.initialize(
            address,
            processes,
            rank,
            coordinator_bind_address=address,
            initialization_timeout=PATIENCE,
            shutdown_timeout_seconds=5,
        )
    jax.devices()
    limit_memory(memory if jax.default_backend() == "cpu" else None)


def limit_memory(memory: float | None) -> None:
    """Forbid core files, and limit memory to `memory` GiB beyond what this process has now (not enforced on macOS).

    None: no limit on memory, since the driver of a GPU or TPU maps as much as the device has.
    """
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux" and memory is not None:
        with open("/proc/self/status", encoding="ascii") as status:
            now = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData"))
        most = now + int(memory * 2**30)
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def _dump_on_signal(pipe: int) -> None:
    import faulthandler

    faulthandler.disable()  # pytest's would write a crash's stack onto the terminal
    faulthandler.register(signal.SIGUSR1, file=pipe, all_threads=False)
