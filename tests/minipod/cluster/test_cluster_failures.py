"""Each way in which a cluster can fail ends, is named in one sentence, and leaves nothing running."""

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster_programs import SUM
from still_running import DEADLINE, left_running, until

from minipod import cluster

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for what is left running through /proc")

# Two steps together; then process WHO does CASE instead of its third step.
STEPS = f"""{SUM}
for k in range(3):
    if k == 2 and jax.process_index() == int(sys.argv[2]):
        match sys.argv[1]:
            case "raise": raise ValueError("bad shard")
            case "kill": os.kill(os.getpid(), signal.SIGKILL)
            case "leave": break
    print("step", k, np.asarray(total(x)))
"""
# A child in the same session, one in its own, and an orphan in a third; says their pids and its own once all are there.
FAMILY = """
import os, subprocess, sys, time
children = [subprocess.Popen(["sleep", "1000"], start_new_session=own).pid for own in (False, True)]
hear, say = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(say, str(os.getpid()).encode())
        time.sleep(1000)
    os._exit(0)
print("up", os.getpid(), *children, os.read(hear, 99).decode(), flush=True)
time.sleep(float(sys.argv[1]))
"""


@pytest.fixture
def marker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A fresh folder and a mark in the environment of all that a test starts; nothing with it may be left."""
    mark = uuid.uuid4().hex
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINIPOD_TEST_MARK", mark)
    yield mark
    monkeypatch.delenv("MINIPOD_TEST_MARK")
    left = left_running(mark, DEADLINE)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left, "left running"


def run(program: str, *arguments: str, check: bool = False, **options) -> cluster.Run:
    Path("p.py").write_text(program)
    return cluster.run("p.py", *arguments, check=check, **options)


def line(text: str) -> str:
    """Where `text` stands in STEPS: «p.py:16»."""
    return f"p.py:{STEPS.partition(text)[0].count(chr(10)) + 1}"


def test_a_raising_process_is_named_with_its_error_and_line(marker: str):
    done = run(STEPS, "raise", "1", limit=600)
    begin, _, rest = str(done.first_failure).partition("; ")
    assert begin == f"process 1 raised ValueError: bad shard, at {line('raise ValueError')}"
    assert rest.startswith("process 0 was waiting in `")
    assert rest.endswith(f"({line('print(')}) and has been ended")
    assert done.codes == [-signal.SIGKILL, 1] and done.exit_code == 1 and not done.ok
    assert "ValueError: bad shard" in done.outputs[1] and "minipod" not in done.outputs[1]  # its own traceback


def test_a_killed_process_is_named_although_it_was_the_coordinator(marker: str):
    done = run(STEPS, "kill", "0", limit=600)
    assert str(done.first_failure).startswith("process 0 was killed by SIGKILL")
    assert done.codes[0] == -signal.SIGKILL and done.exit_code == 128 + 9


def test_at_the_limit_each_process_says_where_it_is_and_a_suspended_one_that_it_is(marker: str):
    program = """import os, signal, time
me = int(os.environ["MINIPOD_PROCESS"])
if me == 2:
    os.kill(os.getpid(), signal.SIGSTOP)
time.sleep(900 + me)
"""
    for limit in (3, 6, 12, 24, 48, 96):  # until all have come so far, and some time ago: only the machine knows when
        done = run(program, processes=3, limit=limit)
        if str(done.first_failure).count("is waiting in `time.sleep") == 2 and "SIGSTOP" in str(done.first_failure):
            break
    assert done.first_failure == (
        f"still running after {limit} s: process 0 is waiting in `time.sleep(900 + me)` (p.py:5), "
        "process 1 is waiting in `time.sleep(900 + me)` (p.py:5), process 2 is suspended (SIGSTOP)"
    )
    assert done.exit_code == 124 and done.seconds >= limit
    assert str(done.where()).startswith("[0] p.py:5 time.sleep(900 + me)\n[1] p.py:5 time.sleep(900 + me)")
    assert done.where()._repr_html_().count("<section") == 3


def test_a_program_that_does_not_exit_or_is_killed_as_it_exits_has_not_succeeded(marker: str):
    done = run("import threading, time\nthreading.Thread(target=time.sleep, args=(900,)).start()", processes=1, limit=3)
    assert done.first_failure == "still running after 3 s: process 0 has finished, but does not exit"
    done = run("import atexit, os\natexit.register(os.kill, os.getpid(), 9)", processes=1)
    assert (done.first_failure, done.codes) == ("process 0 was killed by SIGKILL", [-9])


def test_with_a_collective_timeout_the_program_gets_the_error_and_the_cause_is_named(marker: str):
    for seconds in (2, 8, 32):  # on a busy machine the first steps may take longer than the first of these
        done = run(STEPS, "leave", "1", collective_timeout=seconds, limit=600)
        if all("step 1" in printed for printed in done.outputs):
            break
    assert done.first_failure and done.first_failure.startswith("process 0 raised JaxRuntimeError: ")
    # the other may be gone before the time is up
    assert any(words in done.first_failure for words in ("Timed out", "Connection closed by peer"))
    assert done.first_failure.endswith("after process 1 had finished")


def test_check_raises_with_the_sentence_first_and_the_outputs(marker: str):
    with pytest.raises(cluster.ClusterError, match="^process [01] ended with exit status 1\n") as caught:
        run("print('hello')\nraise SystemExit('no data')", check=True)
    assert "[0] hello\n[0] no data\n[1] hello" in str(caught.value) and caught.value.run.codes == [1, 1]


def test_the_same_error_in_both_is_said_once(marker: str):
    done = run("def load():\n    raise OSError('no file')\nload()")
    assert done.first_failure == "both processes raised OSError: no file, at p.py:2"
    done = run("x = 1\ny = = 2\n")
    assert str(done.first_failure).startswith("both processes raised SyntaxError")
    assert str(done.first_failure).endswith(", at p.py:2") and "y = = 2" in done.outputs[0]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("os._exit(3)", "process 1 ended with exit status 3"),
        ("os.abort()", "process 1 aborted (SIGABRT)"),
        ("exec('1 +')", "process 1 raised SyntaxError: invalid syntax (<string>, line 1), at p.py:3"),
        ("raise KeyboardInterrupt", "process 1 raised KeyboardInterrupt, at p.py:3"),
    ],
)
def test_other_bad_ends_are_named(marker: str, body: str, says: str):
    done = run(f"import os\nif os.environ['MINIPOD_PROCESS'] == '1':\n    {body}\n")
    assert done.first_failure in (says, says + ", after process 0 had finished")


def test_grandchildren_end_with_a_program_that_ends(marker: str):
    done = run(FAMILY, "0")
    assert done.ok and all(text.startswith("up ") for text in done.outputs) and not left_running(marker, DEADLINE)


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_when_the_launcher_ends_everything_ends(marker: str, by: signal.Signals):
    if by != signal.SIGKILL and signal.getsignal(by) is signal.SIG_IGN:
        pytest.skip(f"{by.name} is ignored here, as under nohup, and so it is by what is started")
    Path("p.py").write_text(FAMILY)
    command = [sys.executable, "-m", "minipod", "run", "--limit", "1000", "p.py", "1000"]  # longer than the test takes
    launcher = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert launcher.stdout
    said = [launcher.stdout.readline() for _ in range(2)]
    launcher.stdout.close()
    family = {int(pid) for line in said for pid in line.split()[2:]}
    assert len(family) == 2 * 4 and until(lambda: family < {*left_running(marker)}), said
    launcher.send_signal(by)
    assert launcher.wait(DEADLINE) == (130 if by == signal.SIGINT else -by)
    assert not left_running(marker, DEADLINE)


# Process 0 holds a lock for which the others wait; the last one fails once all are there.
TELLTALES = """
import fcntl, os, pathlib, sys, time
me, last = int(os.environ["MINIPOD_PROCESS"]), int(sys.argv[1])
lock = open("lock", "w")
if me == 0:
    fcntl.flock(lock, fcntl.LOCK_EX)
pathlib.Path(f"{me}-is-here").touch()
while len(list(pathlib.Path().glob("*-is-here"))) <= last:
    time.sleep(0.01)
if me == 0:
    time.sleep(1000)
if me == last:
    raise ValueError("enough")
fcntl.flock(lock, fcntl.LOCK_SH)
print("process 0 has ended", flush=True)
"""


def test_of_those_that_are_ended_none_tells_of_the_others_end(marker: str):
    done = run(TELLTALES, "5", processes=6)
    assert done.first_failure and "ValueError: enough" in done.first_failure
    assert "has ended" not in "".join(done.outputs)
