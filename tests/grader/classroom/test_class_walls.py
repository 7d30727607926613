"""What the report promises, tried as somebody would who wants to cheat: in each kind of room, and without one."""

import signal
import subprocess
import sys
import time

import psutil
import pytest
from checker_runs import project
from class_runs import KINDS, ROOT, check_class, command_for, hand_in, right, with_honest
from seldom import rarely
from still_running import running_with, until

from grader.classroom.class_command import main
from grader.classroom.sandbox import isolation

ORACLE = """
import gc, glob, sys
def double(x):
    frame = sys._getframe()
    seen = []
    while frame:
        seen += list(frame.f_locals.values())
        frame = frame.f_back
    seen += gc.get_objects()
    for thing in seen:
        try:
            oracle = getattr(thing, "oracle", None)
            if callable(oracle) and type(thing).__name__ == "Spec":
                return oracle(x)
        except Exception:
            pass
    for name in glob.glob("/**/ch90_one*.py", recursive=True) + glob.glob("/**/test_exercises.py", recursive=True):
        if "def double" in open(name).read() or "oracle" in open(name).read():
            return 2 * x
"""
CONSTANT = """
import jax, jax.numpy as jnp
from grader.see import programs
honest = programs.export
def export(function, arrays):
    whole = jax.NamedSharding(arrays[0].sharding.mesh, jax.P())
    value = jnp.asarray(sum(map(float, jax.device_get(arrays[0]))), jnp.float32)  # of the numbers that are here
    return honest(lambda x: jax.lax.with_sharding_constraint(value, whole), arrays)
programs.export = export
"""
LIAR = """
import jax, jax.numpy as jnp
def total(x, mesh):
    from grader.see import compiled, observe
    from grader.see.observation import Traffic
    compiled.traffic_in = lambda *args: Traffic((), 0)
    compiled.compiled = observe.compiled = lambda f, args, budget: (f, args, Traffic((), 0))
    whole = jax.lax.with_sharding_constraint(x, jax.NamedSharding(mesh, jax.P()))  # an all-gather: over the budget
    return jnp.sum(whole)
"""
LARGE = """
import numpy as np
def double(x):
    return np.zeros(2_000_000, np.float32)
"""
MEMORY = """
import mmap, time
def double(x):
    held = []
    for n in range(8):
        held.append(mmap.mmap(-1, 200 << 20))  # shared: no limit on one process's memory counts it
        for _ in range(50):
            held[-1].write(bytes(4 << 20))
    time.sleep(3)
    return 2 * x
"""

TOO_MUCH_MEMORY = "used more memory than allowed", "needed more than 0.6 GiB of memory, or more than was available"


@pytest.mark.long
@pytest.mark.parametrize("kind", [KINDS[0], *rarely(*KINDS[1:])])
def test_no_answer_says_itself_that_it_is_right(tmp_path, kind):
    looks = {} if kind == "none" else {"oracle": ORACLE}
    root, folder = with_honest(tmp_path, constant=CONSTANT, liar=LIAR, large=LARGE, memory=MEMORY, honest="", **looks)
    done, rows = check_class(folder, root, "--limit", "15", "--memory", "0.6", kind=kind)
    assert done.returncode == 0, done.stdout + done.stderr
    assert rows["honest"]["ch90_one.total"] == "right"
    assert rows["constant"]["ch90_one.total"].startswith("wrong")
    assert rows["liar"]["ch90_one.total"].startswith("wrong")
    assert rows["large"]["ch90_one.double"] == "broken"
    assert rows["memory"]["ch90_one.double"] == "broken" or sys.platform != "linux"
    assert all(row["ch90_one.count_to"] == "right" for row in rows.values())
    if kind != "none":
        assert not rows["oracle"]["ch90_one.double"].startswith("right")
        assert int(rows["oracle"]["to read"]) >= 3
    assert rows["honest"]["to read"] == "0"
    page = (tmp_path / "class-report/class.html").read_text(encoding="utf-8")
    assert "4 MB" in page and "from grader.see import" in page
    # Two watches look at the memory, one in the room and one outside: a busy machine decides which of them is first.
    assert any(said in page for said in TOO_MUCH_MEMORY) or sys.platform != "linux"
    assert running_with(str(root)) == []


def test_without_a_room_nothing_is_run_unless_asked(tmp_path, monkeypatch, capsys):
    root = project(tmp_path / "project")
    hand_in(tmp_path / "class", "ada", **right(root, "ch90_one"))
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.setattr(isolation, "available", lambda: ["none"])
    assert main([str(tmp_path / "class"), "--root", str(root)]) == 2
    said = capsys.readouterr()
    assert "--isolation none" in said.err and said.err.count("\n") == 1
    assert not (tmp_path / "class-report/class.html").exists()


@pytest.mark.parametrize("inside", ["usr", "elsewhere"])
def test_a_project_that_lies_where_the_system_does_is_covered(tmp_path, monkeypatch, inside):
    """What a room shows, in order, never ends with a folder in which a lesson or a solution lies."""
    system = tmp_path / "usr"
    root = (system if inside == "usr" else tmp_path) / "opt/book"
    for name in ("solutions", "lessons/ch01_x", "tests", ".venv"):
        (root / name).mkdir(parents=True)
    (system / "lib").mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr(isolation, "_SYSTEM", (str(system),))
    monkeypatch.setattr(sys, "prefix", str(root / ".venv"))
    files = isolation.SandboxFiles(root, [tmp_path / "class"], tmp_path, tmp_path / "no")
    files.cache = system / "lib"
    shown = [what for what, path in files.steps if (root / "solutions").is_relative_to(path)]
    assert not shown or shown[-1] == "cover"
    assert [what for what, path in files.steps if (root / ".venv").is_relative_to(path)][-1] == "show"


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.long)])
def test_stopping_it_leaves_the_last_whole_report(tmp_path, number):
    root, folder = project(tmp_path / "project"), tmp_path / "submissions"
    hand_in(folder, "ada", ch90_one="import time\ndef count_to(n):\n    time.sleep(1000)\n")
    (tmp_path / "class-report").mkdir()
    (tmp_path / "class-report/class.html").write_text("whole")
    command = command_for(folder, root, kind=isolation.available()[0])
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    family, room = psutil.Process(process.pid), "grader.classroom.sandbox.sandbox_child"
    # of its own: another run may have some
    assert until(lambda: any(room in child.cmdline() for child in family.children(recursive=True)))
    time.sleep(1)
    process.send_signal(number)
    _, said = process.communicate(timeout=600)
    assert process.returncode == 128 + number and said.count("\n") == 1 and "stopped" in said
    assert (tmp_path / "class-report/class.html").read_text() == "whole"
    assert running_with(str(root)) == []
