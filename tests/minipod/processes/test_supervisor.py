"""Children end when they are told to, with what they started, whether or not they listen."""

import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from still_running import DEADLINE, left_running, until

from minipod.processes import Program, end_child, fork, interrupt_later
from minipod.processes.supervisor import keep_only_files

LISTENS = "import sys; print('up', flush=True); sys.stdin.read(); sys.exit(3)"
DEAF = """
import signal, subprocess, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen(["sleep", "1000"])
print("up", flush=True)
time.sleep(1000)
"""
PARENT = """
import time
from minipod.processes import fork
if fork():
    print("up", flush=True)
time.sleep(1000)
"""


def started(code: str, marker: str) -> Program:
    env = {**os.environ, "MARKER_OF_TEST": marker}
    program = Program([sys.executable, "-c", code], stdout=subprocess.PIPE, env=env)
    assert program.stdout and program.stdout.readline() == b"up\n"
    program.stdout.close()
    return program


def test_a_program_that_listens_ends_by_itself_and_one_that_does_not_is_ended_with_its_family():
    assert started(LISTENS, "").end(DEADLINE) == 3
    marker = f"deaf-{os.getpid()}"
    assert started(DEAF, marker).end(0.1) == -signal.SIGKILL
    assert left_running(marker, DEADLINE) == []


@pytest.mark.parametrize(
    ("code", "patience", "exit_code"), [(3, DEADLINE, 3), (None, 0.0, -signal.SIGKILL), (None, 0.1, -signal.SIGKILL)]
)
def test_a_forked_child_has_the_end_of_its_own_or_ours(code: int | None, patience: float, exit_code: int):
    pid = fork()
    if pid == 0:
        try:
            while code is None:
                time.sleep(1000)
        finally:
            os._exit(code or 0)
    assert os.waitstatus_to_exitcode(end_child(pid, patience)) == exit_code


def test_a_child_that_goes_on_with_the_parents_code_keeps_its_files_and_lets_go_of_pipes_and_locks(tmp_path: Path):
    reads, writes = os.pipe()
    log = open(tmp_path / "log", "w", buffering=1)
    lock = open(tmp_path / "lock", "w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    pid = fork()
    if pid == 0:
        try:
            keep_only_files()
            print("the child", file=log)
            os.write(writes, b"to nobody")  # and no error
            time.sleep(1000)
        finally:
            os._exit(1)
    try:
        assert until(lambda: (tmp_path / "log").read_text())
        os.close(writes)
        lock.close()
        print("the parent", file=log)
        assert os.read(reads, 100) == b""  # this end of the pipe has no other end any more
        if sys.platform == "linux":
            with open(tmp_path / "lock") as again:
                fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert (tmp_path / "log").read_text() == "the child\nthe parent\n"
    finally:
        end_child(pid)
        os.close(reads)
        log.close()


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel ends it, on Linux")
def test_a_forked_child_ends_with_its_parent_however_that_ends():
    marker = f"orphan-{os.getpid()}"
    parent = started(PARENT, marker)
    assert until(lambda: len(left_running(marker)) == 2)
    parent.kill()
    parent.end()
    assert left_running(marker, DEADLINE) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_comes_while_a_process_is_forked_counts_at_the_end_of_the_block(number: signal.Signals):
    def stop(number: int, _: object) -> None:
        raise KeyboardInterrupt(number)

    before, went_on = signal.signal(number, stop), False
    try:
        with pytest.raises(KeyboardInterrupt):
            with interrupt_later():
                os.kill(os.getpid(), number)
                went_on = True
        assert went_on and signal.getsignal(number) is stop
        with interrupt_later():
            pass  # nothing came
        assert signal.getsignal(number) is stop
    finally:
        signal.signal(number, before)


def test_what_a_program_does_not_handle_ends_it_as_ever():
    pid = fork()
    if pid == 0:
        with interrupt_later():
            os.kill(os.getpid(), signal.SIGTERM)
        os._exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGTERM
