"""Exchange JSON values, one per line, between two of minipod's processes through a pipe."""

import json
import os
import select
import time
from collections.abc import Iterator
from typing import Any

LONGEST = 64 << 20  # bytes of a line; who sends more is not understood
_write, _dumps = os.write, json.dumps  # as they are now: a program that we run may replace them


class Garbled(ValueError):
    """Raised for a line that is not JSON. line: the line, or its beginning."""

    def __init__(self, line: bytes):
        super().__init__(f"not a line of JSON: {line[:100].decode(errors='replace')}")
        self.line = line


def encode(data: Any) -> bytes:
    """Return `data` as a line of JSON, including the newline."""
    return _dumps(data).encode() + b"\n"


def parse(line: bytes | str) -> Any:
    """Return the value in a line. Raises Garbled."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        raise Garbled(line.encode() if isinstance(line, str) else line) from None


def send(fd: int, line: bytes) -> None:
    """Write all of `line`, however little the pipe takes at a time."""
    rest = memoryview(line)
    while rest:
        rest = rest[_write(fd, rest) :]


def write(fd: int, data: Any) -> None:
    """Write `data` as a line of JSON."""
    send(fd, encode(data))


def taken(fd: int) -> int:
    """Move the open file of `fd` to a new descriptor, and point `fd` itself at /dev/null.

    Then no child reads our requests, and no stray print looks like a reply.
    """
    ours = os.dup(fd)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, fd)
    os.close(null)
    return ours


class Reader:
    """A reader of the JSON values that arrive on a descriptor."""

    def __init__(self, fd: int, longest: int = LONGEST):
        self._fd, self._longest = fd, longest
        self._rest = bytearray()

    def read(self, seconds: float | None = None) -> Any:
        """Return the next value; wait for it at most `seconds` (None: forever).

        Raises TimeoutError if none has come, EOFError if none will come, even if a line was begun, and Garbled for a
        line that is not JSON or is too long.
        """
        end = None if seconds is None else time.monotonic() + seconds
        looked_at = 0
        while (at := self._rest.find(b"\n", looked_at)) < 0:
            looked_at = len(self._rest)
            if looked_at > self._longest:
                line = bytes(self._rest)
                self._rest.clear()
                raise Garbled(line)
            left = None if end is None else max(end - time.monotonic(), 0)
            if not select.select([self._fd], [], [], left)[0]:
                raise TimeoutError(f"no line within {seconds:g} s")
            if not (data := os.read(self._fd, 1 << 20)):
                raise EOFError("the other end is closed")
            self._rest += data
        line = bytes(self._rest[:at])
        del self._rest[: at + 1]
        return parse(line)

    def __iter__(self) -> Iterator[Any]:
        while True:
            try:
                value = self.read()
            except EOFError:
                return
            yield value
