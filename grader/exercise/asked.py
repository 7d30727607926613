"""An argument that an answer calls, and that knows more than the answer may: a table, so many calls of it.

Where answers run in rooms the table stays outside: the room has an `Asker` in its place, which asks through a socket.
"""

import json
import operator
import os
import socket
from collections.abc import Mapping
from typing import Any

PATIENCE = 60.0  # seconds for a reply, on a machine that is busy
place = ""  # in a room: the socket at which the process that asks outside listens


class Asked:
    """table[n] for whoever calls it with n, at most `most` times.

    table    by whole number what comes back, JSON data
    unknown  with n before it, what is said of other numbers (ValueError) · enough: of one call too many (RuntimeError)
    """

    def __init__(self, table: Mapping[int, Any], most: int, name: str, unknown: str, enough: str) -> None:
        self.table, self.most, self.name, self.unknown, self.enough = table, most, name, unknown, enough
        self.__name__ = name  # as it is shown
        self.calls = 0

    def __call__(self, n: int) -> Any:
        return returned(self.reply(n))

    def reply(self, n: int) -> str:
        """What a call gives, or raises, as a text."""
        if n not in self.table:
            return json.dumps({"ValueError": f"{n} {self.unknown}"})
        self.calls += 1
        if self.calls > self.most:
            return json.dumps({"RuntimeError": self.enough})
        return json.dumps({"value": self.table[n]})


def returned(reply: str) -> Any:
    """What `reply` says: returned, or raised."""
    said = json.loads(reply)
    for kind in (ValueError, RuntimeError):
        if kind.__name__ in said:
            raise kind(said[kind.__name__])
    return said["value"]


class Asker:
    """Stands in a room for the n-th `Asked` of the arguments."""

    def __init__(self, n: int, name: str, unknown: str) -> None:
        self._n, self._unknown, self.__name__ = n, unknown, name

    def __call__(self, n: Any) -> Any:
        try:
            whole = operator.index(n)
        except TypeError:
            raise ValueError(f"{n} {self._unknown}") from None
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(PATIENCE)
            line.connect(place)
            line.sendall(json.dumps([self._n, whole]).encode() + b"\n")
            reply = b""
            while not reply.endswith(b"\n") and (more := line.recv(1 << 16)):
                reply += more
        return returned(reply.decode())


class Desk:
    """The room's end of it: takes the questions of the answer's process, and passes them on, one at a time."""

    MOST, LONGEST = 8, 200  # open questions, bytes of one

    def __init__(self, folder: str) -> None:
        global place
        place = os.path.join(folder, f"asked-{os.getpid()}")
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(place)
        self._door.listen()
        self._door.setblocking(False)
        self._open: dict[socket.socket, bytes] = {}

    def questions(self) -> list[tuple[socket.socket, int, int]]:
        """What has been asked since: where the reply goes, of which argument, for which number."""
        try:
            while len(self._open) < self.MOST:
                line, _ = self._door.accept()
                line.setblocking(False)
                self._open[line] = b""
        except BlockingIOError:
            pass
        found = []
        for line, begun in list(self._open.items()):
            try:
                data = line.recv(self.LONGEST)
            except BlockingIOError:
                continue
            except OSError:
                data = b""
            self._open[line] = begun + data
            whole = self._open[line].endswith(b"\n")
            if not whole and data and len(self._open[line]) < self.LONGEST:
                continue
            asked = _two_numbers(self._open.pop(line)) if whole else None
            if asked is None:
                line.close()
            else:
                found.append((line, *asked))
        return found

    @staticmethod
    def reply(line: socket.socket, text: str) -> None:
        """Answer a question."""
        with line:
            try:
                line.setblocking(True)
                line.settimeout(1.0)
                line.sendall(text.encode() + b"\n")
            except OSError:
                pass  # who asked has gone


def _two_numbers(line: bytes) -> tuple[int, int] | None:
    try:
        one, other = json.loads(line)
    except (ValueError, TypeError, RecursionError):
        return None
    return (one, other) if type(one) is int and type(other) is int else None
