"""A process that hangs is told from one that works by where it stands, whatever else runs in it."""

import os
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest
from cluster_programs import SUM
from still_running import until

from minipod import cluster
from minipod.cluster import launch, process
from minipod.processes import hang

HUNG = 300
# Both take a step together, then process 1 has finished, and process 0 does CASE.
STEPS = f"""{SUM}
total(x).block_until_ready()

def spin():
    while True: pass

if jax.process_index() == 0:
    if "busy" in sys.argv:
        threading.Thread(target=spin, daemon=True).start()
    match sys.argv[1]:
        case "blocks": total(x).block_until_ready()
        case "reads": np.asarray(total(x))
        case "dispatches": [total(x) for _ in range(200)]
        case "sleeps": time.sleep(5)
        case "waits for a thread":
            saver = threading.Thread(target=time.sleep, args=(5,)); saver.start(); saver.join()
        case "locks":
            lock = threading.Lock(); lock.acquire(); threading.Timer(5, lock.release).start(); lock.acquire()
    print("done", flush=True)
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(launch, "LEFT", 2.0)


def steps(*arguments: str) -> cluster.Run:
    Path("p.py").write_text(STEPS)
    return cluster.run("p.py", *arguments, devices=2, limit=HUNG, check=False)


def waits(run: cluster.Run) -> bool:
    """Whether process 0 was ended because it waited for process 1, and not by the limit."""
    found = str(run.first_failure).startswith("process 1 finished while process 0 is still waiting in `")
    return found and run.codes[1] == 0 and run.exit_code == 1


LONG = pytest.mark.long


@pytest.mark.parametrize(
    "case",
    [
        ["dispatches"],  # which cannot even do that any more
        pytest.param(["blocks"], marks=LONG),
        pytest.param(["reads", "busy"], marks=LONG),
    ],
    ids=" ".join,
)
def test_who_waits_in_a_collective_for_one_that_has_finished_is_found(case: list[str]):
    assert waits(run := steps(*case)), run


@pytest.mark.parametrize("case", ["locks", *(pytest.param(c, marks=LONG) for c in ("sleeps", "waits for a thread"))])
def test_who_does_something_else_is_let_finish(case: str):
    run = steps(case)
    assert run.ok and run.outputs == ["done\n", ""], run


def test_elsewhere_than_on_linux_too(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(hang, "_kind_of_wait", lambda pid: "")  # the kernel says nothing
    monkeypatch.setattr(hang.psutil.Process, "threads", mock.Mock(side_effect=hang.psutil.AccessDenied))
    assert waits(run := steps("blocks")), run


@pytest.mark.parametrize("gone", [0, pytest.param(1, marks=LONG)])
def test_who_waits_in_initialize_for_one_that_never_comes_is_found(gone: int):
    Path("p.py").write_text(
        f"import os\nif os.environ['MINIPOD_PROCESS'] != '{gone}':\n    import jax\n"
        "    from minipod.cluster import launch_arguments\n    jax.distributed.initialize(**launch_arguments())\n"
    )
    run = cluster.run("p.py", limit=HUNG, check=False)
    begin = f"process {gone} finished while process {1 - gone} is still waiting in `jax.distributed.initialize("
    assert str(run.first_failure).startswith(begin), run


def test_on_the_way_out_jax_is_ended_and_the_programs_own_work_is_not():
    Path("p.py").write_text(
        "import atexit, os, time\n"
        "def save():\n    time.sleep(5)\n    print('saved')\n"
        "if os.environ['MINIPOD_PROCESS'] == '0': atexit.register(save)\n"
    )
    assert cluster.run("p.py", limit=HUNG).outputs == ["saved\n", ""]
    Path("p.py").write_text(
        "import atexit, sysconfig, threading\n"
        "file = sysconfig.get_path('purelib') + '/jax/way_out.py'  # a wait in such a file is one of JAX's\n"
        "exec(compile('def leave(): threading.Event().wait()', file, 'exec'))\n"
        "atexit.register(leave)\nprint('done')\n"
    )
    run = cluster.run("p.py", limit=HUNG)
    assert run.outputs == ["done\n"] * 2 and run.codes == [0, 0]


def test_who_uses_no_processor_is_idle_unless_kept_from_it_or_the_whole_machine_stood_still(monkeypatch):
    now, kept = 0.0, False
    monkeypatch.setattr(hang, "time", SimpleNamespace(monotonic=lambda: now))

    def idle_after(seconds: float) -> float:
        """What it says when it was asked every 0.02 s for so many seconds."""
        nonlocal now
        for _ in range(round(seconds / 0.02)):
            now += 0.02
            idle.seconds()
        return round(idle.seconds(), 1)

    idle = hang.Idle(lambda: 7.0, lambda: kept)
    assert idle_after(3) == 3
    kept = True  # by a disk, say
    assert idle_after(3) <= 0.6
    kept = False
    assert 2 <= idle_after(2) <= 2.6
    idle = hang.Idle(lambda: 7.0)
    assert idle_after(0.8) == 0.8
    now += 20  # the caller was not run, either
    assert round(idle.seconds(), 1) == 0.8 and round(idle.quiet, 1) == 20.8


def test_on_a_busy_machine_who_gets_no_processor_has_not_hung_and_who_sleeps_is_not_busy(monkeypatch, request):
    now, state = 0.0, "running"
    for module in (hang, process):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(hang, "_status", lambda program: state)
    monkeypatch.setattr(process.Member, "ask_where", lambda member: True)  # nobody answers
    program = subprocess.Popen(["sleep", "900"])
    request.addfinalizer(program.wait)
    request.addfinalizer(program.kill)
    finished = process.Member(0, program, report={"pid": program.pid, "done": 0})

    def hangs(steps: int, seconds: float) -> bool:
        nonlocal now
        for _ in range(steps):
            now += seconds
            finished.idle_for()
            found = finished.hangs(2.0)
        return found

    assert not hangs(500, 0.02)  # what it does at exit would be lost
    state = "sleeping"
    assert hangs(500, 0.02)
    worked = process.Member(1, program, report={"pid": program.pid})
    for _ in range(3):  # the launcher itself runs only once a second
        now += 1
        assert worked.idle_for() < 1
    assert worked.waits()


def test_a_process_that_a_debugger_has_stopped_is_told_from_one_that_a_signal_has(monkeypatch: pytest.MonkeyPatch):
    states = {"running": "", "stopped": "suspended (SIGSTOP)", "tracing-stop": "stopped by a debugger"}
    for state, said in states.items():
        monkeypatch.setattr(hang.psutil.Process, "status", lambda self, state=state: state)
        assert hang.suspended(os.getpid()) == said


@pytest.mark.parametrize(("does", "at_work"), [("sleep 60", False), ("while :; do :; done", True)])
def test_a_family_that_computes_is_at_work_and_one_that_sleeps_is_not(does: str, at_work: bool):
    with subprocess.Popen(["sh", "-c", f"{does} & wait"]) as parent:
        assert until(children := hang.psutil.Process(parent.pid).children)
        # as it starts, a child that will sleep computes, too
        seen = until(lambda: any(hang.family_at_work(parent.pid) or time.sleep(0.02) for _ in range(20)) == at_work)
        for child in children():
            child.kill()
    assert seen
