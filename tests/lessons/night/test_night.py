"""Chapter 16: what strikes the training of the night, and what is left of it in the morning."""

import contextlib
import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from seldom import rarely
from still_running import left_running, until

from minipod import cluster

LESSON = Path(__file__).resolve().parents[3] / "lessons/ch16_capstone"
LONG = pytest.mark.long
STEPS, EVERY = 60, 10
ROUNDING = 1e-5  # relative: another number of devices adds up in another order
# Runs the program where each process has a disk of its own.
ELSEWHERE = """
import os, runpy, sys
program, *sys.argv[1:] = sys.argv[1:]
os.chdir("host-" + os.environ["MINIPOD_PROCESS"])
sys.path.insert(0, os.path.dirname(program))
runpy.run_path(program, run_name="__main__")
"""
# What a checkpoint is for cut_off and, beside it, for Orbax itself: one damage a turn to each of its files.
DAMAGED = """
import logging, os, shutil, sys
from pathlib import Path
lesson, whole = sys.argv[1:]
sys.path.insert(0, lesson)
import jax, keeping, model
import orbax.checkpoint as ocp
logging.disable(logging.CRITICAL)
draw, key = model.start(model.mesh_of_all())
like = jax.eval_shape(draw, key)
def restores(folder):
    state, rest = ocp.args.StandardRestore(like), ocp.args.JsonRestore()
    try:
        ocp.CheckpointManager(folder).restore(60, args=ocp.args.Composite(state=state, rest=rest))
    except Exception:
        return False
    return True
def halve(file):
    os.truncate(file, file.stat().st_size // 2)
for name in [None, *sorted(p.relative_to(whole) for p in Path(whole).rglob("*") if p.is_file())]:
    for how in (halve, os.unlink):
        copy = Path("damaged/60").absolute()
        shutil.rmtree(copy.parent, ignore_errors=True)
        shutil.copytree(whole, copy)
        if name:
            how(copy / name)
        print(name, how.__name__, bool(keeping.cut_off(copy)), restores(copy.parent), sep="\t")
"""
# Saves, and changes what was saved before the thread that writes it has come to it. Then a disk refuses to read one of
# its files, as with EIO; here because a link leads to itself.
CHANGED_AND_REFUSED = """
import json, sys, threading
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import jax, keeping, model
changed, dumps = threading.Event(), json.dumps
def late(thing, *args, **settings):
    if threading.current_thread() is not threading.main_thread():
        changed.wait(60)
    return dumps(thing, *args, **settings)
json.dumps = late
draw, key = model.start(model.mesh_of_all())
rest = {"losses": [0.5], "rows": {"next": 256}}
manager = keeping.open_folder("steps")
keeping.save(manager, 1, draw(key), rest)
rest["losses"].append(0.4)
rest["rows"]["next"] = 512
changed.set()
keeping.finish(manager)
print(keeping.restore(manager, jax.eval_shape(draw, key))[2])
for pattern in ("rest/metadata", "state/manifest.ocdbt", "state/d/*"):
    file = next(Path("steps/1").absolute().glob(pattern))
    file.rename("kept")
    file.symlink_to(file.name)
    try:
        print(pattern, "cut off:", keeping.cut_off(Path("steps/1").absolute()))
    except Exception as error:
        print(pattern, "refused")
    Path("kept").rename(file)
"""
# Runs the program where process 1 is killed when it is about to save step 20.
KILLED_SAVING = """
import os, runpy, signal, sys, threading
program, *sys.argv[1:] = sys.argv[1:]
sys.path.insert(0, os.path.dirname(program))
import ending, keeping
save = keeping.save
def dies(manager, step, state, rest):
    if step == 20 and os.environ["MINIPOD_PROCESS"] == "1":
        while not (manager.directory / "10").exists():  # still written in the background
            threading.Event().wait(0.05)
        os.kill(os.getpid(), signal.SIGKILL)
    save(manager, step, state, rest)
keeping.save = dies
ending.time.sleep = lambda seconds: None  # it leaves before minipod ends it
runpy.run_path(program, run_name="__main__")
"""


def night(folder: str, *options: str, steps: int = STEPS, fault: str = "", who: int = 1, **settings) -> cluster.Run:
    """One start of the training; `fault` strikes process `who`."""
    processes = settings.setdefault("processes", 2)
    env = [{"NIGHT_FAULT": fault} if fault and p == who else {} for p in range(processes)]
    options = (folder, str(steps), "--every", str(EVERY), *options)
    return cluster.run(LESSON / "night.py", *options, env=env, check=False, **settings)


def losses(folder: str) -> list[float]:
    return json.loads(Path(folder, "losses.json").read_text())


def begun_after(run: cluster.Run) -> int:
    found = re.search(r"begins after step (\d+)", run.outputs[0])
    assert found, str(run)
    return int(found[1])


def steps_done(folder: str, process: int) -> list[int]:
    """The steps of a process that its log says are done, of all starts, in order."""
    log = Path(folder, f"logs/{process:03}.log").read_text()
    return [int(line.split("\t")[2]) for line in log.splitlines() if "\tloss 0" in line]


def write_data(folder: Path) -> None:
    x = np.random.default_rng(16).normal(size=(4096, 8))
    y = np.sin(x[:, :1] + x[:, 1:2])
    (folder / "data").mkdir()
    np.save(folder / "data/train.npy", np.float32(np.concatenate([x, y], axis=1)))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """A folder with the data, and a night in which nothing happened."""
    folder = tmp_path_factory.mktemp("undisturbed")
    write_data(folder)
    with contextlib.chdir(folder):
        assert night("whole").codes == [0, 0]
    return folder


@pytest.fixture
def here(undisturbed, tmp_path, monkeypatch):
    shutil.copytree(undisturbed, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NIGHT_OF_A_TEST", str(tmp_path))
    yield tmp_path
    assert left_running(str(tmp_path)) == []


@LONG
@pytest.mark.parametrize("who", [0, *rarely(1)])
def test_told_to_go_all_save_the_same_step_and_the_next_start_loses_nothing(here, who, monkeypatch):
    for name in ("GRACE", "IDLE"):  # who leaves last is not ended for it, on a busy machine either
        monkeypatch.setattr(f"minipod.cluster.launch.{name}", 60.0)
    run = night("told", fault="TERM@12", who=who)
    assert run.codes == [75, 75]
    saved = int(re.search(r"told to go: step (\d+) is saved", run.outputs[0])[1])
    assert saved >= 12 and steps_done("told", 0) == steps_done("told", 1) == list(range(1, saved + 1))
    again = night("told")
    assert again.codes == [0, 0] and begun_after(again) == saved
    assert steps_done("told", 0) == list(range(1, STEPS + 1)), "no step is done twice"
    assert losses("told") == losses("whole")


@LONG
def test_who_goes_on_and_is_told_before_the_first_step_stops_after_it(here, monkeypatch):
    """Nobody has asked by then, so JAX agrees on number 1: who goes on with later numbers never asks about it."""
    for name in ("GRACE", "IDLE"):
        monkeypatch.setattr(f"minipod.cluster.launch.{name}", 60.0)
    assert night("early", steps=12).codes == [0, 0]
    run = night("early", fault="TERM@13")
    assert run.codes == [75, 75] and "told to go: step 13 is saved" in run.outputs[0]
    assert night("early").codes == [0, 0] and losses("early") == losses("whole")


def killed(folder: str) -> None:
    run = night(folder, fault="KILL@37")
    assert run.codes[1] == -signal.SIGKILL and "process 1 was killed by SIGKILL" in run.first_failure


@LONG
def test_killed_at_most_the_steps_since_the_last_checkpoint_are_repeated(here):
    killed("killed")
    again = night("killed")
    begun = begun_after(again)
    assert begun in (20, 30), "30 may still have been on its way to the disk"
    assert len(steps_done("killed", 0)) == 36 + STEPS - begun
    assert losses("killed") == losses("whole"), "in the result each step counts once"


@LONG
@pytest.mark.parametrize(("processes", "devices"), [(4, 2), *rarely(pytest.param(1, 1), pytest.param(1, 8))])
def test_on_another_number_of_processes_the_losses_agree_to_rounding(here, processes, devices):
    killed("moved")
    again = night("moved", processes=processes, devices=devices)
    assert begun_after(again) > 0 and set(again.codes) == {0}
    np.testing.assert_allclose(losses("moved"), losses("whole"), rtol=ROUNDING)


@LONG
def test_a_checkpoint_that_was_cut_off_is_set_aside(here):
    night("cut", steps=40)
    for file in Path("cut/steps/40").rglob("d/*"):
        os.truncate(file, 50)
    shutil.copytree("cut/steps/30", "cut/steps/50.orbax-checkpoint-tmp")
    Path("cut/steps/60").mkdir()  # a foreign folder, or one whose writing broke off at once
    Path("cut/steps/cut-off-40/of-an-earlier-night").mkdir(parents=True)
    shutil.copytree("cut/steps/cut-off-40", "cut/steps/cut-off-60")
    again = night("cut")
    assert begun_after(again) == 30 and "checkpoint 40 is not whole" in again.outputs[0]
    assert losses("cut") == losses("whole")


def in_one_process(program: str, *args: object) -> str:
    env = os.environ | {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "8"}
    command = [sys.executable, "-c", program, str(LESSON), *map(str, args)]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout


@LONG
def test_a_checkpoint_that_orbax_cannot_restore_is_never_taken_for_whole(here):
    lines = [line.split("\t") for line in in_one_process(DAMAGED, "whole/steps/60").splitlines()]
    assert [line[2:] for line in lines[:2]] == [["False", "True"]] * 2, "undamaged"
    broken = [line for line in lines if line[3] == "False"]
    assert {"rest/metadata", "state/_METADATA", "state/manifest.ocdbt"} <= {line[0] for line in broken}
    assert [line for line in broken if line[2] == "False"] == []


def test_what_changes_while_it_is_written_is_not_in_a_checkpoint_and_a_disk_that_refuses_has_not_cut_it_off(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    said, *disk = in_one_process(CHANGED_AND_REFUSED).splitlines()
    assert said == "{'losses': [0.5], 'rows': {'next': 256}}"
    assert disk == [f"{file} refused" for file in ("rest/metadata", "state/manifest.ocdbt", "state/d/*")]


@LONG
def test_a_peer_killed_while_all_save_leaves_a_night_that_is_started_again(here):
    Path("killed_saving.py").write_text(KILLED_SAVING)
    run = cluster.run("killed_saving.py", str(LESSON / "night.py"), "peer", str(STEPS), check=False)
    if run.codes[0] == 1:  # else JAX has ended it before it could say so
        assert "cannot write checkpoint 20 (JaxRuntimeError" in run.outputs[0]
    assert run.codes[0] in (1, -signal.SIGKILL, -signal.SIGTERM), "2 would need a person"
    assert begun_after(night("peer")) == 10 and losses("peer") == losses("whole")


@pytest.mark.parametrize(("error", "status"), [(jax.errors.JaxRuntimeError("gone"), 1), (OSError(28, "full"), 2)])
def test_only_what_a_restart_does_not_mend_waits_for_a_person(error, status, monkeypatch):
    monkeypatch.syspath_prepend(str(LESSON))
    ending, left = importlib.import_module("ending"), []
    monkeypatch.setattr(ending, "leave", lambda *said: left.append(said))
    with ending.one_sentence("cannot save"):
        raise error
    assert [(sentence.partition(" (")[0], code) for sentence, code in left] == [("cannot save", status)]


@LONG
def test_the_watchdog_ends_a_hang_and_shows_where_each_stands(here):
    run = night("hung", "--limit", "3", fault="HANG@8")
    assert 1 in run.codes and not run.ok
    said = read_logs("hung/logs")
    stack = "no step was finished in time: the stacks of all threads\n    "
    assert stack + "faults.py" in said.partition("[1] step 7")[2]
    assert stack + "night.py" in said.partition("[0] step 7")[2].partition("[1] step 7")[0]


@LONG
def test_the_slow_process_is_named(here):
    run = night("slow", steps=20, fault="SLOW@11", who=0)
    found = re.findall(r"process (\d) is slow: (\d\.\d+) s", run.outputs[0])
    assert [who for who, _ in found] == ["0"] and float(found[0][1]) > 0.1


@LONG
def test_a_disk_that_is_full_for_one_process_ends_all_and_loses_nothing(here):
    run = night("full", fault="FULL@33")
    assert "process 1: cannot write" in run.outputs[1] and "File too large" in run.outputs[1]
    assert run.codes[1] == 2
    assert begun_after(night("full")) in (20, 30) and losses("full") == losses("whole")


def test_a_folder_that_cannot_be_used_ends_all_with_a_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_data(tmp_path)
    Path("a-file").write_text("")
    run = night("a-file/night")
    assert run.codes == [2, 2]
    assert run.outputs == [f"process {p} cannot use a-file/night: Not a directory\n" for p in (0, 1)]


@LONG
def test_a_folder_that_is_not_shared_ends_all_with_a_sentence(here):
    Path("elsewhere.py").write_text(ELSEWHERE)
    for host in ("host-0", "host-1"):
        shutil.copytree("data", f"{host}/data")
    run = cluster.run("elsewhere.py", str(LESSON / "night.py"), "night", "20", check=False)
    assert run.codes == [2, 2]
    assert run.outputs[0] == "process 0 does not see in night what process 1 wrote: not shared\n"
    assert run.outputs[1] == "process 1 does not see in night what process 0 wrote: not shared\n"


@LONG
def test_two_jobs_do_not_train_in_one_folder_and_the_lock_of_a_dead_one_is_free(here):
    started = alone("locked", fault="HANG@15")
    try:
        assert until(lambda: started.poll() is not None or "\tloss" in log_of("locked")) and started.poll() is None
        second = alone("locked")
        said, _ = second.communicate(timeout=600)
        assert second.returncode == 2
        assert re.fullmatch(r"process 0 cannot use locked: process \d+ on .+ is training in it\n", said), said
        assert not list(Path("locked").glob("probe-*"))
    finally:
        started.kill()
        started.communicate()
    third = alone("locked")
    said, _ = third.communicate(timeout=600)
    assert third.returncode == 0 and "begins after step 10" in said
    fewer = night("locked", steps=EVERY, processes=1)  # than are done: nothing is left to do
    assert fewer.codes == [0] and begun_after(fewer) == STEPS


@LONG
def test_without_a_launcher_it_is_told_to_go_as_well(here):
    started = alone("alone", fault="SLOW@5")
    try:
        assert until(lambda: started.poll() is not None or log_of("alone").count("\tloss") > 6, 600)
        started.terminate()
        said, _ = started.communicate(timeout=600)
    finally:
        started.kill()
    assert started.returncode == 75 and "is saved" in said
    said, _ = alone("alone").communicate(timeout=600)
    np.testing.assert_allclose(losses("alone"), losses("whole"), rtol=ROUNDING)


def test_where_a_launcher_was_missed_nobody_trains_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    started = alone("pod", JAX_COORDINATOR_ADDRESS="127.0.0.1:1234")
    said, _ = started.communicate(timeout=600)
    assert started.returncode == 2 and not Path("pod").exists()
    assert said.startswith("no cluster found (") and "JAX_COORDINATOR_ADDRESS=127.0.0.1:1234 is not enough" in said


def alone(folder: str, fault: str = "", **more: str) -> subprocess.Popen:
    """As `python night.py` starts it, one process of eight devices."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("MINIPOD_")} | more
    env |= {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "8", "NIGHT_FAULT": fault or "@0", "PYTHONUNBUFFERED": "1"}
    env["PYTHONPATH"] = str(LESSON.parents[1])
    command = [sys.executable, str(LESSON / "night.py"), folder, str(STEPS), "--every", str(EVERY)]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def log_of(folder: str) -> str:
    path = Path(folder, "logs/000.log")
    return path.read_text() if path.exists() else ""


def read_logs(folder: str) -> str:
    command = [sys.executable, str(LESSON / "read_logs.py"), folder]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_sixteen_logs_are_read_as_one_whatever_the_clocks_say(tmp_path):
    for p in range(16):
        clock = 1_800_000_000 + 977 * p  # no two clocks agree
        lines = [f"{clock + 2 * s}.5\t1800000000\t{s}\t{p}\tloss 0.{s}" for s in range(1, 4 if p == 5 else 5)]
        if p == 5:
            stack = '  File "/home/me/rows.py", line 7 in take\n  File "/usr/lib/python3.11/a.py", line 1 in f'
            lines.append(f"Timeout (0:00:03)!\nThread 0x00007f (most recent call first):\n{stack}")
        (tmp_path / f"{p:03}.log").write_text("\n".join([*lines, ""]))
    new = [f"1700000000.5\t1800000060\t{step}\t16\t{text}\n" for step, text in ((2, "begins"), (3, "loss 0.3"))]
    (tmp_path / "016.log").write_text("".join(new))  # came later; its clock is slow
    with (tmp_path / "000.log").open("a") as log:
        log.write("1800000070.5\t1800000060\t3\t0\tloss 0.3\n")
    expected = """--- started at 08:00:00 UTC
[0-15] step 1: loss 0.1
[0-15] step 2: loss 0.2
[0-4,6-15] step 3: loss 0.3
[5] step 3: loss 0.3
    no step was finished in time: the stacks of all threads
    rows.py, line 7
[0-4,6-15] step 4: loss 0.4
--- started at 08:01:00 UTC
[16] step 2: begins
[0,16] step 3: loss 0.3
"""
    assert read_logs(str(tmp_path)) == expected


def commands(folder: Path, srun: str, scontrol: str) -> None:
    for name, does in (("srun", srun), ("scontrol", scontrol)):
        (folder / name).write_text(f"#!/bin/sh\n{does}\n")
        (folder / name).chmod(0o755)


def batch(folder: Path, **settings) -> subprocess.CompletedProcess:
    env = {"PATH": f"{folder}:/usr/bin:/bin", "SLURM_JOB_ID": "7"}
    return subprocess.run(["bash", LESSON / "night.sbatch", "runs", "60"], cwd=folder, env=env, **settings)


def started(folder: Path, status: int, said: str = "", steps: int = 0) -> tuple[bool, int]:
    """night.sbatch, once, with an srun that ends so: whether the job goes again, and with what the script ends.

    said: on stderr, as Slurm does · steps: the newest checkpoint that is there afterwards
    """
    found = folder / "runs/steps" / str(steps)
    commands(folder, f"mkdir -p {found}; echo '{said}' >&2; exit {status}", 'echo "asked: $*"')
    done = batch(folder, capture_output=True, text=True)
    assert said in done.stderr
    return "asked: requeue 7" in done.stdout, done.returncode


# In one bash: night.sbatch for each status, srun's own, and that of a process while srun ends with a signal's.
ALL_STATUSES = r"""
srun() { printf '%s\n' "$line" 'srun: Terminating StepId=7.0' >&2; return "$code"; }
scontrol() { echo requeued; }
mkdir() { :; }; grep() { :; }; sort() { :; }; tail() { :; }  # there is no checkpoint
for n in {0..255}; do
    for code in "$n" 143; do
        [ "$code" = "$n" ] && line='' || line="srun: error: host1: task 1: Exited with exit code $n"
        : >runs/failed
        said=$(. "$0" runs 60 2>/dev/null)
        echo "$n $code $? ${said##*[^a-z]}"
    done
done
"""


def test_the_batch_file_leaves_only_0_and_2_as_they_are(tmp_path):
    (tmp_path / "runs").mkdir()
    command = ["bash", "-c", ALL_STATUSES, str(LESSON / "night.sbatch")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    found = [line.split() for line in done.stdout.splitlines()]
    assert len(found) == 2 * 256
    ends = [tuple(map(int, line[:3])) for line in found if line[3:] != ["requeued"]]
    assert ends == [(0, 0, 0), (2, 2, 2), (2, 143, 2)]


def test_a_night_that_is_told_to_go_goes_again_however_often(tmp_path):
    assert [started(tmp_path, 75) for _ in range(9)] == [(True, 0)] * 9
    one_of_two = "srun: error: host1: task 1: Exited with exit code 75"  # srun's own status is the highest
    assert [started(tmp_path, 143, one_of_two) for _ in range(9)] == [(True, 0)] * 9


def test_a_night_that_fails_goes_again_as_long_as_checkpoints_move(tmp_path):
    assert [started(tmp_path, 137, steps=10 * n) for n in range(9)] == [(True, 0)] * 9
    assert [started(tmp_path, 137, steps=80) for _ in range(5)] == [(True, 0)] * 4 + [(False, 137)]
    assert started(tmp_path, 137, steps=90) == (True, 0)


def test_what_an_earlier_start_said_stays_in_the_output(tmp_path):
    """Slurm opens it to append, and `tee` must not open it anew."""
    commands(tmp_path, *(f"echo {n} was here; echo {n} failed >&2; exit 75" for n in ("srun", "scontrol")))
    with (tmp_path / "night.out").open("a") as out:
        for _ in range(2):
            batch(tmp_path, stdout=out, stderr=out)
    said = (tmp_path / "night.out").read_text()
    assert said.count("srun was here") == said.count("srun failed") == said.count("ended with 75: again") == 2


def test_a_night_whose_folder_cannot_be_written_needs_a_person(tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/failed").mkdir()
    assert started(tmp_path, 137) == (False, 2)
