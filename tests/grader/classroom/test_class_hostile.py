"""Submissions that read, write, kill, fork, fill and loop: everybody else's outcome stands, and nothing is left."""

import platform
import re
import subprocess
import sys
from collections import deque

import pytest
from class_runs import KINDS, ROOT, check_class, command_for, hand_in, outcomes, right, with_honest
from seldom import rarely
from still_running import running_with

from grader.classroom.sandbox import isolation, sandbox_pool
from grader.classroom.sandbox.isolation import SandboxFiles
from grader.classroom.sandbox.sandbox_messages import Try
from grader.classroom.sandbox.system_calls import NUMBERS

ISOLATED = [KINDS[0], *rarely(KINDS[1])]
BOMB = """
import subprocess
def double(x):
    started = []
    try:
        for _ in range(5000):
            started.append(subprocess.Popen(["sleep", "600"], start_new_session=True))
    except OSError:
        for process in started[20:]:
            process.kill()
            process.wait()
        return 2 * x
"""
FILL = """
import pathlib
def double(x):
    for folder in ("/tmp", "/dev/shm"):
        try:
            for n in range(400):
                pathlib.Path(folder, str(n)).write_bytes(bytes(4 << 20))
        except OSError:
            continue
        return None
    return 2 * x
"""
LOOP = """
import signal
def double(x):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        pass
"""
PRINT = """
def double(x):
    while True:
        print("x" * 10_000_000)
"""
KILL = """
import contextlib, os, signal
def double(x):
    with contextlib.suppress(OSError):
        os.kill(os.getppid(), signal.SIGKILL)
    return 2 * x
"""
EXIT = "import os\ndef double(x):\n    os._exit(0)\n"


def spy(secrets, targets):
    """A submission that is right only where it can neither read `secrets` nor write to `targets`, nor get out."""
    return f"""
import os, socket
def works(attempt):
    try:
        return attempt() != ""
    except OSError as refused:
        return isinstance(refused, TimeoutError)  # by nobody: it is on its way
def double(x):
    attempts = [lambda path=path: open(path).read() for path in {list(map(str, secrets))!r}]
    attempts += [lambda path=path: open(path, "a").write("# spy") for path in {list(map(str, targets))!r}]
    attempts += [lambda: os.memfd_create("x")]  # no memory that is not counted
    attempts += [lambda: socket.create_connection(("192.0.2.1", 80), timeout=1)]
    pids = [name for name in os.listdir("/proc") if name.isdigit()]
    return 2 * x if not any(map(works, attempts)) and len(pids) < 10 and "SECRET" not in os.environ else None
"""


@pytest.mark.long
@pytest.mark.parametrize("kind", ISOLATED)
def test_in_a_sandbox_nobody_reads_changes_or_stops_anything(tmp_path, monkeypatch, kind):
    monkeypatch.setenv("SECRET", "token")
    root, folder = with_honest(tmp_path, honest="", bomb=BOMB, fill=FILL, kill=KILL, exit=EXIT, loop=LOOP, print=PRINT)
    honest = right(root, "ch90_one")["ch90_one"]
    other = root / "tests/data/other_answers/ch90_one.py"
    other.parent.mkdir(parents=True)
    other.write_text(honest)
    secrets = [folder / "honest/ch90_one.py", root / "solutions/ch90_one.py", root / "lessons/ch90_one/mistakes.py"]
    secrets += [other, "../honest/ch90_one.py", "/etc/shadow", tmp_path / "class-report/class.csv"]
    targets = [root / "lessons/ch90_one/test_exercises.py", root / "lessons/new.py", isolation.__file__]
    targets += [tmp_path / "class-report/class.html", folder / "honest/ch90_one.py", "/usr/new", "/new"]
    hand_in(folder, "spy", ch90_one=f"{honest}\n{spy(secrets, targets)}")
    done, rows = check_class(folder, root, "--limit", "15", kind=kind)
    assert done.returncode == 0, done.stdout + done.stderr
    first = {name: row["ch90_one.double"] for name, row in rows.items()}
    kill = first.pop("kill")
    ends = {"exit": "broken", "loop": "hung", "print": "broken"}
    assert first == dict.fromkeys(("honest", "spy", "bomb", "fill"), "right") | ends
    assert kill in ("right", "broken")  # from Linux 6.12 on its signal does not arrive
    assert all(outcomes(row)[1:3] == ["right", "right"] for row in rows.values())
    assert running_with(str(root)) == []


PLANT = """
import importlib.util, marshal, pathlib, sys, time
code = compile("raise SystemExit('planted')", "x", "exec")
data = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8) + marshal.dumps(code)
for place in {places!r}:
    path = pathlib.Path(place)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
open({solution!r}, "a").write("#")
"""


@pytest.mark.long
def test_without_a_sandbox_what_is_changed_is_told_and_never_imported_and_the_rest_is_checked(tmp_path):
    root, folder = with_honest(tmp_path, honest="", exit=EXIT, loop=LOOP, kill=KILL)
    honest, tag, lesson = right(root, "ch90_one")["ch90_one"], sys.implementation.cache_tag, root / "lessons/ch90_one"
    cache, solution = root / ".cache/class/ch90_one.double-1.json", root / "solutions/ch91_pair.py"
    told = [lesson / f"__pycache__/test_exercises.{tag}.pyc", folder / f"honest/__pycache__/ch90_one.{tag}.pyc"]
    told = [*map(str, [*told, root / ".hidden/x.py"])]
    planted = PLANT.format(places=[*told, str(cache)], solution=str(solution))
    hand_in(folder, "planter", ch90_one=f"{honest}\n{planted}")
    done, rows = check_class(folder, root, "--limit", "15", kind="none")
    assert done.returncode == 1
    assert "NOT ISOLATED" in done.stdout and "these files changed" in done.stdout
    assert all(place in done.stdout for place in [*told, str(solution)]) and not cache.parent.exists()
    page = (tmp_path / "class-report/class.html").read_text(encoding="utf-8")
    assert 'role="alert"' in page and "solutions/ch91_pair.py" in page
    assert rows["exit"]["ch90_one.double"] == "broken" and rows["loop"]["ch90_one.double"] == "hung"
    assert all(outcomes(row)[1:3] == ["right", "right"] for row in rows.values())
    assert running_with(str(root)) == []
    command = command_for(folder, root, "--part", "5/99", "--isolation", "none")  # the planter's; no report yet
    part = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert part.returncode == 1 and str(solution) in part.stdout, part.stdout + part.stderr
    for student in ("planter", "exit", "loop", "kill"):
        (folder / student / "ch90_one.py").unlink()
    done, rows = check_class(folder, root, kind="none")
    assert done.returncode == 0 and rows["honest"]["ch90_one.double"] == "right", done.stdout + done.stderr


LATE = """
import pathlib, time
def double(x):
    before = pathlib.Path({marker!r})
    if not before.exists():
        before.touch()
        time.sleep(60)
    return 2 * x
"""


@pytest.mark.long
def test_what_hung_beside_others_is_run_once_more_alone_and_a_file_that_hangs_only_a_few_times(tmp_path):
    late = LATE.format(marker=str(tmp_path / "before"))
    root, folder = with_honest(tmp_path, late=late, stuck="import time\ntime.sleep(1000)\n")
    done, rows = check_class(folder, root, "--limit", "8", "--jobs", "2", kind="none")
    assert done.returncode == 0, done.stdout + done.stderr
    assert outcomes(rows["late"])[:3] == ["right"] * 3
    assert outcomes(rows["stuck"])[:3] == ["hung"] * 3
    assert "again, alone" in done.stdout


INODES = """
import os
def double(x):
    try:
        for n in range(1_500_000):
            os.mknod(f"/tmp/{n}")
    except OSError:
        return None
    return 2 * x
"""


REFUSED = """
import ctypes, errno, os, signal, struct, subprocess, sys, threading
from grader.classroom.sandbox import system_calls

assert system_calls.refuse()
libc, numbers = ctypes.CDLL(None, use_errno=True), system_calls.NUMBERS[os.uname().machine][1]
clone, new_user = system_calls.CLONE[os.uname().machine], 0x10000000

def said(number, *args):
    '''What the kernel answers a child of ours that makes this call.'''
    read, write = os.pipe()
    if os.fork() == 0:
        done = libc.syscall(number, *args)
        os.write(write, errno.errorcode[ctypes.get_errno()].encode() if done < 0 else b"done")
        os._exit(0)
    os.close(write)
    return os.read(read, 100).decode()

got = {name: said(numbers[name], new_user, 0, 0, 0, 0) for name in ("unshare", "memfd_create")}
others = "setns", "mount", "fsopen", "memfd_secret", "add_key", "shmget"
got |= {name: said(numbers[name], None, 0, 0, 0, 0) for name in others}
for bit in 17, 25, 26, 27, 28, 29, 30:  # CLONE_NEW*
    got[f"clone {bit}"] = said(clone, 1 << bit | signal.SIGCHLD, 0, 0, 0, 0)
got["clone3"] = said(system_calls.CLONE3, struct.pack("8Q", new_user, 0, 0, 0, signal.SIGCHLD, 0, 0, 0), 64)
assert got.pop("clone3") == "ENOSYS", got
assert set(got.values()) == {"EPERM"}, got
assert "done" in said(clone, signal.SIGCHLD, 0, 0, 0, 0), "a process may be started"
thread = threading.Thread(target=print, args=("a thread",))
thread.start()
thread.join()
assert subprocess.run([sys.executable, "-I", "-S", "-c", "print('a process')"], check=True)
"""


@pytest.mark.skipif(platform.machine() not in NUMBERS, reason="no system calls are refused on this machine")
def test_nobody_gets_a_namespace_or_memory_that_is_not_counted():
    done = subprocess.run([sys.executable, "-c", REFUSED], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "a thread\na process\n"), done.stderr


@pytest.mark.long
@pytest.mark.parametrize("kind", ISOLATED)
def test_files_count_as_memory(tmp_path, kind):
    root, folder = with_honest(tmp_path, inodes=INODES)
    done, rows = check_class(folder, root, "--limit", "60", "--memory", "0.6", kind=kind)
    assert done.returncode == 0, done.stdout + done.stderr
    assert rows["inodes"]["ch90_one.double"].startswith("broken" if kind == "bwrap" else "wrong")
    page = (tmp_path / "class-report/class.html").read_text(encoding="utf-8")
    assert "The kernel does not let an answer use the following" in page


def test_no_two_rooms_have_one_user(tmp_path, monkeypatch):
    monkeypatch.setattr(isolation.os, "getuid", lambda: 0)
    files = SandboxFiles(tmp_path, [], tmp_path, tmp_path)
    users = set()
    for kind in ("bwrap", "unshare"):
        for _ in range(50):
            users |= set(re.findall(r"\b2\d{9}\b", " ".join(isolation.command(kind, files, ["true"]))))
    assert len(users) == 100


ON_LINUX = sys.platform == "linux"  # elsewhere nothing looks at the memory of others
FAKE = """
import json, os, sys, time
say = lambda text: print(text, flush=True)
say(json.dumps({"t": "Ready"}))
for line in sys.stdin:
    what = json.loads(line)["paths"][0]
    if what == "dies":
        os._exit(3)
    elif what == "silent":
        time.sleep(600)
    elif what == "floods":
        while True:
            sys.stdout.write("x" * 1_000_000)
    elif what == "swells":
        held = os.memfd_create("held")
        for _ in range(100):
            os.write(held, bytes(4 << 20))
        time.sleep(600)
    else:
        say(what)
"""


def test_a_sandbox_that_ends_costs_one_answer_and_what_it_says_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(isolation, "command", lambda kind, files, program: [sys.executable, "-c", FAKE])
    monkeypatch.setattr(sandbox_pool, "GRACE", 10.0)
    monkeypatch.setattr(sandbox_pool, "LONGEST", 1_500_000)
    names = ["dies", "a", "[" * 100_000, "b", "silent", "c", "floods", "d", *["swells"] * ON_LINUX]

    def question(student, name):
        return sandbox_pool.Question((student, name), lambda: Try((name,)), 1.0, 0.3)

    students = ("ada", "bo")
    work = [deque(question(student, name) for name in names) for student in students]
    told = {}
    files = SandboxFiles(tmp_path, [], tmp_path, tmp_path)
    ours = subprocess.Popen(["sleep", "600"])  # of the program that asks, and none of the class's business
    sandbox_pool.run_all("none", files, work, 2, lambda answer, line: told.update({answer: line}))
    assert ours.poll() is None
    ours.kill()
    assert ours.wait() < 0
    for student in students:
        assert {name: told[student, name] for name in names} == {
            **{name: name.encode() for name in names},
            "dies": "class-sandbox-died",
            "silent": "class-sandbox-silent",
            "floods": "class-sandbox-nonsense",
            **({"swells": "class-sandbox-memory"} if ON_LINUX else {}),
        }
    assert len(told) == 2 * len(names)
