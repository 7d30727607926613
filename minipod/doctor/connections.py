"""Connect the processes of a cluster on the coordinator's own port before JAX uses it: this path must be open.

Process 0 listens. Every other process connects, sends its number and its facts, and answers when process 0 asks for its
time. The connections stay while JAX's coordinator listens on the same port. Messages are JSON values, one per line.
"""

import contextlib
import selectors
import socket
import time
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from minipod.processes import json_lines

WORD = "minipod doctor"
LONGEST = 1 << 20  # bytes of a line: the port may be open to others
PINGS = 8  # to find the clocks' offset: the quickest answer is the truest


class Lost(ConnectionError):
    """Raised when a connection is lost; the message gives the reason."""


@dataclass
class Line:
    """A connection to another process."""

    socket: socket.socket
    facts: dict[str, Any] = field(default_factory=dict)
    gone: bool = False

    def __post_init__(self) -> None:
        self.reader = json_lines.Reader(self.socket.fileno(), LONGEST)

    def say(self, **what: Any) -> None:
        """Send a message; do nothing if the other process is gone."""
        with contextlib.suppress(OSError):
            self.socket.sendall(json_lines.encode(what))

    def hear(self, seconds: float) -> dict[str, Any]:
        """Wait for the next message and return it. Raises TimeoutError, Lost."""
        try:
            message = self.reader.read(seconds)
        except (EOFError, ConnectionError):
            self.gone = True
            raise Lost("its connection to process 0 has ended") from None
        except json_lines.Garbled:
            self.gone = True
            raise Lost("its connection leads to something other than minipod doctor") from None
        return message if isinstance(message, dict) else {}

    def messages(self) -> Iterator[dict[str, Any]]:
        """Yield the messages that have arrived so far. Raises Lost."""
        with contextlib.suppress(TimeoutError):
            while True:
                yield self.hear(0)

    def measure_clock(self) -> tuple[float, float]:
        """Return the seconds by which the other clock is ahead of ours, and their error. Raises TimeoutError, Lost."""
        answers = []
        for _ in range(PINGS):
            before = time.time()
            self.say(ask="time")
            theirs = self.hear(5.0).get("time", before)
            took = time.time() - before
            answers.append((took / 2, theirs - before - took / 2))
        within, ahead = min(answers)
        return ahead, within


def listen(address: str, everywhere: bool) -> socket.socket:
    """Listen on `address` or, if `everywhere`, on every interface, as JAX does. Raises OSError."""
    host, _, port = address.rpartition(":")
    if not everywhere:
        return socket.create_server((host.strip("[]"), int(port)))
    if socket.has_dualstack_ipv6():
        with contextlib.suppress(OSError):
            return socket.create_server(("", int(port)), family=socket.AF_INET6, dualstack_ipv6=True)
    return socket.create_server(("", int(port)))


def welcome(listener: socket.socket, processes: int, seconds: float, names: Set[str]) -> dict[int, Line]:
    """Accept the processes that connect within `seconds`, by number; refuse one that lacks the facts `names`."""
    come: dict[int, Line] = {}
    end = time.monotonic() + seconds
    with selectors.DefaultSelector() as waiting:
        waiting.register(listener, selectors.EVENT_READ)
        while len(come) < processes - 1 and (left := end - time.monotonic()) > 0:
            for key, _ in waiting.select(min(left, 0.5)):
                if key.fileobj is listener:
                    line = Line(listener.accept()[0])
                    waiting.register(line.socket, selectors.EVENT_READ, line)
                elif who := _hello(key.data, waiting, processes, names):
                    come[who] = key.data
    return come


def _hello(line: Line, waiting: selectors.BaseSelector, processes: int, names: Set[str]) -> int | None:
    """Return the number of a process that has introduced itself; None for anything else."""
    try:
        message = line.hear(0)
    except TimeoutError:
        return None
    except Lost:
        message = {}
    waiting.unregister(line.socket)
    match message:
        case {"word": word, "process": int(who), "facts": dict(facts)} if (
            word == WORD and 0 < who < processes and names <= facts.keys()
        ):
            line.facts = facts
            return who
    line.socket.close()
    return None


def visit(address: str, process: int, facts: Mapping[str, Any], seconds: float) -> Line:
    """Connect to process 0, send our facts, and return the connection. Raises Lost after `seconds`."""
    host, _, port = address.rpartition(":")
    end = time.monotonic() + seconds
    reason = "no answer"
    while (left := end - time.monotonic()) > 0:
        try:
            connection = socket.create_connection((host.strip("[]"), int(port)), timeout=min(left, 5.0))
        except OSError as error:
            reason = error.strerror or str(error)
            time.sleep(min(0.1, left))
            continue
        connection.settimeout(None)
        line = Line(connection)
        line.say(word=WORD, process=process, facts=facts)
        return line
    raise Lost(f"process 0 could not be reached at {address} within {seconds:g} s ({reason})")
