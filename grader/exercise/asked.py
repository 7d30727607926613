"""An argument that an answer calls, and that knows more than the answer may: a table, so many calls of it.

Where answers run in rooms the table stays outside: the room has an `Asker` in its place, which asks through a socket.
"""

import contextlib
import json
import operator
import os
import socket
from collections.abc import Mapping
from typing import Any

from minipod.processes import json_lines

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
        return returned(json.loads(self.reply(n)))

    def reply(self, n: int) -> str:
        """What a call gives, or raises, as a text."""
        if n not in self.table:
            return json.dumps({"ValueError": f"{n} {self.unknown}"})
        self.calls += 1
        if self.calls > self.most:
            return json.dumps({"RuntimeError": self.enough})
        return json.dumps({"value": self.table[n]})


def returned(said: dict[str, Any]) -> Any:
    """What a reply says: returned, or raised."""
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
            line.connect(place)
            json_lines.write(line.fileno(), [self._n, whole])
            return returned(json_lines.Reader(line.fileno()).read(PATIENCE))


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
        self._open: dict[socket.socket, json_lines.Reader] = {}

    def questions(self) -> list[tuple[socket.socket, int, int]]:
        """What has been asked since: where the reply goes, of which argument, for which number."""
        with contextlib.suppress(BlockingIOError):
            while len(self._open) < self.MOST:
                line, _ = self._door.accept()
                self._open[line] = json_lines.Reader(line.fileno(), self.LONGEST)
        found = []
        for line, reader in list(self._open.items()):
            try:
                match reader.read(0):
                    case [n, x] if type(n) is type(x) is int:
                        found.append((line, n, x))
                    case _:
                        line.close()
            except TimeoutError:
                continue
            except (EOFError, OSError, json_lines.Garbled):
                line.close()
            del self._open[line]
        return found

    @staticmethod
    def reply(line: socket.socket, text: str) -> None:
        """Answer a question; a reply is short, so that nobody is waited for."""
        with line, contextlib.suppress(OSError):  # who asked may have gone
            line.setblocking(False)
            json_lines.send(line.fileno(), text.encode() + b"\n")
