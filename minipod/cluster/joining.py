"""Check and complete the arguments of `jax.distributed.initialize` in every program under `minipod run`.

Missing arguments are filled in. Calls that could only hang raise an error of one sentence. The coordinator listens
only at the address that the program gives to the other processes. The launcher gets each process's number and address
(`minipod.cluster.failure`), since one process alone cannot know that another has the same number.
"""

import contextlib
import errno
import functools
import inspect
import os
import socket
from collections.abc import Callable, Iterator
from fcntl import LOCK_EX, LOCK_NB, flock
from typing import Any

from minipod.devices import have_started
from minipod.processes import wait_for_listener
from minipod.processes.imports import once_imported
from minipod.processes.ports import in_the_way, parts
from minipod.processes.runtime_dir import open_own, runtime_dir

_HERE = "use localhost, or pass {coordinator} to the program"
_PATIENCE = 300  # seconds, JAX's own
_GONE = 5  # seconds for the coordinator's service to end after all have left
_held: dict[int, int] = {}  # the ports that this process has as process 0, and the locks on them, until it ends
_signs: list[socket.socket] = []  # by which the others see that this process has the port


def watch(tell: Callable[..., None]) -> None:
    """Wrap `jax.distributed.initialize` in this process, so that `tell(joins=…)` reports each call to the launcher."""
    once_imported("jax", functools.partial(_wrap, tell))


def _wrap(tell: Callable[..., None]) -> None:
    import jax

    pid = os.getpid()
    joined: list[dict[str, Any]] = []  # what JAX was given, from one call to the other
    initialize, shutdown = jax.distributed.initialize, jax.distributed.shutdown
    signature = inspect.signature(initialize)

    @functools.wraps(initialize)
    def initialize_or_say_why_not(*arguments: Any, **keywords: Any) -> None:
        call = signature.bind(*arguments, **keywords)
        refused = jax.distributed.is_initialized() or have_started()  # JAX says so at once
        if os.getpid() == pid and not refused:  # a fork may be in a cluster of its own
            _fill_in(call.arguments)
            _join(call.arguments, tell)
            joined[:] = [call.arguments]
        initialize(*call.args, **call.kwargs)

    @functools.wraps(shutdown)
    def shutdown_and_tell() -> None:
        if os.getpid() != pid or not joined:
            return shutdown()
        tell(joins=None)  # before it leaves: another process may have left, and join elsewhere, while this one waits
        while _signs:
            _signs.pop().close()
        given = joined.pop()
        has_the_service = given.get("process_id") == 0
        address = str(given.get("coordinator_address"))
        with contextlib.nullcontext() if has_the_service else _until_the_service_ends(address):
            shutdown()

    jax.distributed.initialize, jax.distributed.shutdown = initialize_or_say_why_not, shutdown_and_tell


@contextlib.contextmanager
def _until_the_service_ends(address: str) -> Iterator[None]:
    """Shut down in this block: after it, process 0's service is gone, so that a second join reaches the next.

    JAX's processes leave together, and process 0 ends its service only after that. A gRPC server sends a greeting to
    every client that connects, and a goodbye when it ends.
    """
    with contextlib.ExitStack() as stack:
        connection = None
        with contextlib.suppress(OSError, ValueError):
            connection = stack.enter_context(socket.create_connection(parts(address), timeout=1))
            connection.recv(4096)
        yield
        if connection:
            connection.settimeout(_GONE)
            with contextlib.suppress(OSError):
                connection.recv(4096)


def _fill_in(given: dict[str, Any]) -> None:
    """Fill in missing arguments from `minipod run`, unless the program asks JAX for a different launcher."""
    if given.get("cluster_detection_method") is not None:
        return
    address = given.get("coordinator_address") or os.environ.get("JAX_COORDINATOR_ADDRESS")
    given["coordinator_address"] = address or os.environ["MINIPOD_COORDINATOR"]
    for name, variable in (("num_processes", "MINIPOD_PROCESSES"), ("process_id", "MINIPOD_PROCESS")):
        if given.get(name) is None:
            given[name] = int(os.environ[variable])


def _join(given: dict[str, Any], tell: Callable[..., None]) -> None:
    """Check that this call can succeed, and let process 0 be first. JAX itself checks what it refuses at once."""
    address, processes, number = (given.get(n) for n in ("coordinator_address", "num_processes", "process_id"))
    if not (isinstance(address, str) and isinstance(processes, int) and isinstance(number, int)):
        return
    if not 0 <= number < processes:
        return
    host, port = parts(address)
    started = int(os.environ["MINIPOD_PROCESSES"])
    if processes > started:
        raise ValueError(
            f"num_processes is {processes}, but only {started} {'was' if started == 1 else 'were'} started, so the "
            f"processes would wait in vain: start {processes}, or pass {{processes}} to the program"
        )
    if not (given.get("coordinator_bind_address") or os.environ.get("JAX_COORDINATOR_BIND_ADDRESS")):
        given["coordinator_bind_address"] = address  # JAX's default is every interface
    tell(joins=[number, processes, address])
    ours = os.environ["MINIPOD_COORDINATOR"]
    elsewhere, named = not ours.startswith("127."), port != parts(ours)[1]  # hosts have networks of their own
    if named and not elsewhere:
        obstacles = _obstacles(address, host, port)
        if number == 0:
            _take(address, port, obstacles)
    if number and not (named and elsewhere):
        _wait(ours, given.get("initialization_timeout", _PATIENCE))


def _wait(coordinator: str, patience: float) -> None:
    """Let process 0 be first: JAX's own second attempt would come a whole second later, or reach another cluster."""
    if not wait_for_listener(coordinator, patience):
        raise TimeoutError(
            f"process 0 did not start the coordinator (jax.distributed.initialize) within {patience:g} s"
        )


def _obstacles(address: str, host: str, port: int) -> list[int | None]:
    """Return what prevents listening on each address of the host. ValueError if the host is not this machine."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        raise ValueError(f"this machine cannot resolve the coordinator's address {address}: {_HERE}") from None
    obstacles = in_the_way(addresses)
    if set(obstacles) == {errno.EADDRNOTAVAIL}:
        raise ValueError(f"the coordinator's address {address} is not on this machine: {_HERE}")
    return obstacles


def _take(address: str, port: int, obstacles: list[int | None]) -> None:
    """Reserve the port for this process alone, and let the others of this run know. OSError if it is taken.

    gRPC shares a port with any other listener that allows it (SO_REUSEPORT), and a call may then reach either.
    """
    sign = socket.socket()
    host, own = parts(os.environ["MINIPOD_COORDINATOR"])
    try:
        sign.bind((host, own))
    except OSError:  # a second process 0 of this run: the launcher is about to say so
        sign.close()
        return
    if port not in _held:
        lock = open_own(runtime_dir() / f"coordinator-{port}")
        try:
            flock(lock, LOCK_EX | LOCK_NB)
            taken = "another program" if errno.EADDRINUSE in obstacles else ""
        except BlockingIOError:
            taken = "another run of minipod"
        if taken:
            sign.close()
            os.close(lock)
            raise OSError(f"{taken} uses {address}: wait until it ends, or pass {{coordinator}} to the program")
        _held[port] = lock
    _signs.append(sign)
    sign.listen()
