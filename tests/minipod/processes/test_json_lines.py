"""One JSON value per line: what is whole arrives, what is torn, late, too long or no JSON is said to be so."""

import os
import threading
from collections.abc import Iterator
from typing import IO

import pytest

from minipod.processes import json_lines
from minipod.processes.json_lines import Garbled, Reader


@pytest.fixture
def pipe() -> Iterator[tuple[int, IO[bytes], int]]:
    """Where to read, the other end, and its descriptor."""
    reading, writing = os.pipe()
    with open(reading, "rb"), open(writing, "wb", 0) as end:
        yield reading, end, writing


def test_what_is_written_is_read_however_large(pipe):
    reading, end, writing = pipe
    said = [{"a": [1, None, "行\n\r"]}, [], "x" * 3_000_000, 5]

    def write() -> None:
        for value in said:
            json_lines.write(writing, value)
        end.close()

    writer = threading.Thread(target=write)
    writer.start()
    assert list(Reader(reading)) == said
    writer.join()


def test_lines_come_in_pieces_and_several_at_once(pipe):
    reading, end, writing = pipe
    lines = Reader(reading)
    os.write(writing, b'{"a":')
    with pytest.raises(TimeoutError, match="no line within 0 s"):
        lines.read(0)
    os.write(writing, b' 1}\n2\n"th')
    assert [lines.read(0), lines.read(0)] == [{"a": 1}, 2]
    with pytest.raises(TimeoutError):
        lines.read(0.01)
    end.close()
    with pytest.raises(EOFError, match="closed"):
        lines.read()  # a line that is torn by the end is none


@pytest.mark.parametrize("line", [b"garbage", b"", b"\xff\xfe", b"[" * 100_000])
def test_a_line_that_is_no_json_is_told_and_the_next_is_read(pipe, line: bytes):
    reading, _, writing = pipe
    writer = threading.Thread(target=json_lines.send, args=(writing, line + b"\n7\n"))
    writer.start()
    lines = Reader(reading)
    with pytest.raises(Garbled, match="not a line of JSON") as caught:
        lines.read(60)
    assert caught.value.line == line and lines.read(60) == 7
    writer.join()


def test_a_line_without_end_is_not_kept_for_ever_and_a_descriptor_that_is_taken_leads_nowhere(pipe):
    reading, _, writing = pipe
    os.write(writing, b"1" * 2000)
    with pytest.raises(Garbled):
        Reader(reading, longest=1000).read(0)
    ours = json_lines.taken(writing)
    os.write(writing, b"stray\n")
    json_lines.write(ours, "meant")
    os.close(ours)
    assert Reader(reading).read(0) == "meant"
