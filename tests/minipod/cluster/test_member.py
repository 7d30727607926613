"""`minipod start`: a process that fails ends at once, whatever waits for it, with its reason and its status."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from launchers import clean
from still_running import DEADLINE, left_running, until

from minipod.processes import free_port, kill_group

START = [sys.executable, "-m", "minipod", "start"]
HUNG = 250.0  # seconds; JAX's barrier at exit has 300
THREAD = "threading.Thread(target=lambda: 1 / 0).start(); threading.Event().wait()"
FAILS = """
import subprocess, sys, threading
import jax, numpy as np
from jax.experimental import multihost_utils
from minipod.cluster import launch_arguments
jax.distributed.initialize(**launch_arguments())
multihost_utils.process_allgather(np.ones(2))
if jax.process_index() == {who}:
    subprocess.Popen(["sleep", "1000"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    print("last words")  # not flushed
    {fails}
multihost_utils.process_allgather(np.ones(2))
"""
# A program with children: one of multiprocessing's, and a shell with a child of its own. Memory that they share.
WITH_CHILDREN = """
import atexit, multiprocessing, subprocess, sys, threading, time
from multiprocessing.shared_memory import SharedMemory
shared = SharedMemory(create=True, size=1)
multiprocessing.get_context("fork").Process(target=time.sleep, args=(1000,), daemon={daemon}).start()
shell = subprocess.Popen(["sh", "-c", "sleep 1000 & echo up; wait"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
shell.stdout.readline()
atexit.register(print, "tidied", flush=True)
print(shared.name, flush=True)
{fails}
"""
FOR_EVER = "threading.Thread(target=threading.Event().wait).start(); "


def alone(code: str, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(code)
    return subprocess.run([*START, "program.py"], cwd=folder, env=clean(**env), capture_output=True, text=True)


@pytest.mark.parametrize(
    ("who", "fails", "reason"),
    [
        (0, "raise ValueError('record 17')", "ValueError: record 17\n"),
        (1, THREAD, "ZeroDivisionError: division by zero\n"),
    ],
)
def test_who_fails_in_a_cluster_ends_at_once(who: int, fails: str, reason: str, tmp_path: Path):
    (tmp_path / "program.py").write_text(FAILS.format(who=who, fails=fails))
    marker = f"in-a-cluster-{os.getpid()}"
    at = {"MARKER_OF_TEST": marker, "MINIPOD_COORDINATOR": f"127.0.0.1:{free_port()}", "MINIPOD_PROCESSES": "2"}
    how = {"cwd": tmp_path, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    both = [subprocess.Popen([*START, "program.py"], env=clean(**at, MINIPOD_PROCESS=i), **how) for i in "01"]
    try:
        ends = [(*process.communicate(timeout=HUNG), process.returncode) for process in both]
    finally:
        for process in both:
            process.kill()
    out, err, code = ends[who]
    assert code == 1 and "last words\n" in out and err.endswith(reason), ends
    other = ends[1 - who][2]
    # without process 0, JAX aborts the others (chapter 14), if their collective has not failed before
    assert other in (-signal.SIGABRT, 1) if who == 0 else other != 0, ends
    assert left_running(marker) == []


@pytest.mark.parametrize(
    ("fails", "daemon", "status", "tidied"),
    [
        ("sys.exit(2)", True, 2, True),
        ("sys.exit(2)", False, 2, True),
        (FOR_EVER + "sys.exit(2)", True, 2, False),
        ("atexit.register(threading.Event().wait); sys.exit(2)", True, 2, False),
        (THREAD, True, 1, False),
    ],
    ids=["children", "a child that is no daemon", "a thread goes on", "an exit handler hangs", "in a thread"],
)
def test_before_a_cluster_all_that_was_started_ends(fails, daemon, status, tidied, tmp_path: Path):
    (tmp_path / "program.py").write_text(WITH_CHILDREN.format(fails=fails, daemon=daemon))
    marker = f"with-children-{os.getpid()}"
    command, env = [*START, "program.py"], clean(MARKER_OF_TEST=marker)
    with (tmp_path / "out").open("w") as out:  # no pipe, which children that are left would hold open
        process = subprocess.Popen(command, cwd=tmp_path, env=env, stdout=out, stderr=out, start_new_session=True)
    try:
        assert process.wait(HUNG) == status
        assert left_running(marker, DEADLINE) == []  # the resource tracker ends when it sees that
    finally:
        kill_group(process.pid)
    name, *rest = (tmp_path / "out").read_text().splitlines()
    assert ("tidied" in rest) == tidied
    assert until(lambda: not Path("/dev/shm", name).exists()), "shared memory is left"


def test_an_exception_in_a_thread_at_the_end_is_no_failure(tmp_path: Path):
    code = """
import atexit, threading
end = threading.Event()
thread = threading.Thread(target=lambda: end.wait() and 1 / 0, daemon=True)
thread.start()
atexit.register(lambda: (end.set(), thread.join()))
"""
    done = alone(code, tmp_path)
    assert done.returncode == 0 and done.stderr.endswith("ZeroDivisionError: division by zero\n")


def test_a_traceback_begins_in_the_program_and_exit_handlers_run_where_nobody_waits(tmp_path: Path):
    done = alone("import atexit\natexit.register(print, 'tidied')\n\ndef f():\n    1 / 0\n\nf()\n", tmp_path)
    assert (done.returncode, done.stdout) == (1, "tidied\n")
    assert done.stderr.startswith('Traceback (most recent call last):\n  File "program.py", line 7, in <module>\n')
    assert done.stderr.endswith("ZeroDivisionError: division by zero\n")


def test_who_is_aborted_by_jax_shows_where_it_was(tmp_path: Path):
    """As when a peer is suspended, and JAX ends the others before their own watchdogs do."""
    done = alone("import os\n\ndef step():\n    os.abort()\n\nstep()\n", tmp_path)
    assert done.returncode == -signal.SIGABRT
    assert 'program.py", line 4 in step\n' in done.stderr, done.stderr


def test_the_status_is_the_program_s(tmp_path: Path):
    done = alone("import sys; sys.exit(75)", tmp_path)
    assert (done.returncode, done.stderr) == (75, "")
    assert alone("raise KeyboardInterrupt", tmp_path).returncode == 130


def test_a_further_step_of_a_slurm_job_has_a_port_of_its_own(tmp_path: Path):
    code = "import os; print(os.environ.get('JAX_COORDINATOR_PORT'))"
    first, second = (alone(code, tmp_path, SLURM_JOB_ID="4711", SLURM_STEP_ID=n).stdout for n in "01")
    assert first == "None\n" and 61440 <= int(second) < 65536
