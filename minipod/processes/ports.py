"""Reserve a free port, or slots that all of a user's runs on a machine share."""

import contextlib
import fcntl
import itertools
import os
import random
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from minipod.processes.runtime_dir import open_own, runtime_dir
from minipod.ranges import counted

_PORTS = range(20000, 32000)


def free_port() -> int:
    """Return a free TCP port on 127.0.0.1 that no other caller of this user gets until all other ports have been used.

    If the system chose the port, it might choose the same one for the next outgoing connection. These ports therefore
    lie below the system's range (from 32768 on Linux, 49152 on macOS), and each caller of this user gets the next one:
    the count is kept in a locked file. Raises OSError if no port is free.
    """
    with open(open_own(runtime_dir() / "last-port"), "r+", encoding="ascii") as last:
        fcntl.flock(last, fcntl.LOCK_EX)
        kept = last.read()
        count = int(kept) if kept.isdecimal() else random.randrange(len(_PORTS))
        for number in range(count + 1, count + 1 + len(_PORTS)):
            port = _PORTS[number % len(_PORTS)]
            with contextlib.suppress(OSError):
                try_port(port)
                last.seek(0)
                last.truncate()
                last.write(str(number))
                return port
    raise OSError(f"no free port between {_PORTS.start} and {_PORTS.stop - 1}")


def try_port(port: int) -> None:
    """Raise OSError if no process could listen on this port of 127.0.0.1 now."""
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(("127.0.0.1", port))


def in_the_way(addresses: list[tuple[Any, ...]]) -> list[int | None]:
    """Return, for each address from `getaddrinfo`, what prevents listening on it: an errno, or None."""
    return [_in_the_way(*address) for address in addresses]


def _in_the_way(family: int, kind: int, protocol: int, _: str, where: tuple[Any, ...]) -> int | None:
    try:
        with socket.socket(family, kind, protocol) as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.bind(where)
    except OSError as error:
        return error.errno
    return None


def parts(address: str) -> tuple[str, int]:
    """Return the host and the port of a coordinator's address (`host:port`, `[host]:port`). Raises ValueError."""
    host, _, port = address.rpartition(":")
    if not (host and port.isdecimal() and 0 < int(port) < 65536):
        raise ValueError(f"{address!r} is not a coordinator's address: give a host and a port, such as localhost:10000")
    return host.strip("[]"), int(port)


def wait_for_listener(address: str, seconds: float) -> bool:
    """Wait at most `seconds` until a process listens on `address` (`host:port`); return whether one does.

    If JAX's own first connection comes too early, JAX retries it only after a whole second.
    """
    end, pause = time.monotonic() + seconds, 0.003
    while time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(parts(address), timeout=1):
            return True
        time.sleep(pause)
        pause = min(1.05 * pause, 0.05)  # who waits for long must not look busy
    return False


@contextlib.contextmanager
def slots(count: int, most: int, seconds: float = 10.0) -> Iterator[None]:
    """Reserve `count` of the `most` slots that all processes of this user share on this machine.

    A slot is a locked file, so it is free again when its holder ends, however it ends. Raises TimeoutError if not
    enough are free within `seconds`.
    """
    folder = runtime_dir()
    held: list[int] = []
    end = time.monotonic() + seconds
    try:
        while len(held) < count:
            free = (fd for n in range(most) if (fd := _lock(folder / f"place-{n}")) is not None)
            held.extend(itertools.islice(free, count - len(held)))
            if len(held) < count:
                if time.monotonic() > end:
                    taken = most - len(held)
                    raise TimeoutError(
                        f"{counted(count, 'process')}: minipod already runs {taken} of at most {most}; "
                        "wait until some end"
                    )
                for fd in held:  # two that wait for each other's places would never end
                    os.close(fd)
                held.clear()
                time.sleep(0.1)
        yield
    finally:
        for fd in held:
            os.close(fd)


def _lock(path: Path) -> int | None:
    """Return an open, locked file descriptor of `path`, or None if another process holds it."""
    fd = open_own(path)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    return fd
