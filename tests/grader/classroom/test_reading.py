"""What reads a submission without running it may take for ever, fill the memory or end Python: only a child is lost."""

import os
import signal
import sys
import time

import psutil
import pytest

from grader.classroom import reading
from minipod.processes import children

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="no limit on memory elsewhere")


def full():
    return len(bytearray(3 << 30)) and "so much"


def too_deep():
    found = []
    for _ in range(100_000):
        found = [found]
    return found


def test_what_the_function_returns_comes_back():
    assert reading.apart(lambda: {"a": [1, None, "ü"]}, seconds=300, memory=1) == {"a": [1, None, "ü"]}
    assert reading.apart(lambda: "x" * 10_000_000, seconds=300, memory=1) == "x" * 10_000_000  # more than a pipe takes


@pytest.mark.parametrize(
    "function",
    [
        lambda: 1 / 0,
        sys.exit,
        lambda: os._exit(0),
        lambda: os.kill(os.getpid(), signal.SIGKILL),
        lambda: "x" * (reading.LARGEST + 1),
        lambda: object(),
        too_deep,
        pytest.param(full, marks=LINUX),
    ],
)
def test_who_does_not_come_to_the_end_is_nothing(function):
    before = children()
    assert reading.apart(function, seconds=300, memory=1) is None
    assert children() == before


def test_who_takes_too_long_is_ended():
    before = children()
    assert reading.apart(lambda: time.sleep(10_000), seconds=0.5, memory=1) is None
    assert children() == before


def test_it_has_none_of_our_files_and_nothing_to_say(capfd, tmp_path):
    ours = psutil.Process().num_fds()
    with (tmp_path / "open").open("w"):
        opened = reading.apart(lambda: sorted(os.listdir("/dev/fd")), seconds=300, memory=1)
    assert opened is not None and len(opened) <= 5  # stdin, stdout, stderr, the pipe, and the list itself
    assert reading.apart(lambda: [os.write(1, b"seen"), os.write(2, b"seen")], seconds=300, memory=1) == [4, 4]
    assert capfd.readouterr() == ("", "")
    assert psutil.Process().num_fds() == ours
