"""Replace an `Asked` in a sandbox by an object whose questions a desk takes through a socket."""

import contextlib
import operator
import os
import socket
from typing import Any

from grader.exercise.asked import returned
from minipod.processes import json_lines

PATIENCE = 60.0  # seconds for a reply, on a machine that is busy
place = ""  # the socket at which the process that asks outside listens


class Asker:
    """A replacement, in a sandbox, for the n-th `Asked` among the arguments."""

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
    """The sandbox's desk: it takes the questions of the answer's process and passes them on, one at a time."""

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
        """Return the new questions: the socket for the reply, the number of the `Asked`, and the n that it is asked."""
        with contextlib.suppress(BlockingIOError):
            while len(self._open) < self.MOST:
                line, _ = self._door.accept()
                self._open[line] = json_lines.Reader(line.fileno(), self.LONGEST)
        questions_of = []
        for line, reader in list(self._open.items()):
            try:
                match reader.read(0):
                    case [n, x] if type(n) is type(x) is int:
                        questions_of.append((line, n, x))
                    case _:
                        line.close()
            except TimeoutError:
                continue
            except (EOFError, OSError, json_lines.Garbled):
                line.close()
            del self._open[line]
        return questions_of

    @staticmethod
    def reply(line: socket.socket, text: str) -> None:
        """Answer a question; a reply is short, so that sending it never blocks."""
        with line, contextlib.suppress(OSError):  # who asked may have gone
            line.setblocking(False)
            json_lines.send(line.fileno(), text.encode() + b"\n")
