"""`minipod watch`: who hangs and who is slow, from what the processes leave in files; judged, and in real clusters."""

import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from minipod import cluster
from minipod.__main__ import main
from minipod.cluster import Heartbeat
from minipod.cluster.heartbeat import FILES
from minipod.processes import identity
from minipod.watch import Beat, Finding, Folder, command, judge
from minipod.watch.page import page, prometheus

SUM = ("train.py", 20, "total = sum_of(batch)")
READ = ("rows.py", 7, "batch = read(path)")
PROGRAM = """
import os, signal, sys, time
import jax, numpy as np
from jax.experimental.multihost_utils import process_allgather
from minipod.cluster import Heartbeat, launch_arguments
fault = sys.argv[1]
jax.distributed.initialize(**launch_arguments())
struck = jax.process_index() == jax.process_count() - 1
beat = Heartbeat("beats", every=0.2)
for step in range(1, 41):
    beat.begin(step)
    if struck and fault == "slow":
        time.sleep(0.15)
    if struck and step == 8 and fault == "hang":
        time.sleep(1000)
    if struck and step == 8 and fault == "disk":
        os.read(os.pipe()[0], 1)
    if struck and step == 8 and fault in ("STOP", "KILL"):
        time.sleep(1)  # so that step 8 is told
        os.kill(os.getpid(), getattr(signal, "SIG" + fault))
    beat.ready()
    process_allgather(np.ones(2))
    if struck and step == 8 and fault == "other":
        process_allgather(np.ones(2), tiled=True)  # and the others begin step 9
        time.sleep(1000)
    beat.done()
print("done")
"""


def beat(process: int, processes: int = 4, **but: object) -> Beat:
    """A process that waits for the others in step 9, all being well."""
    well = Beat(
        process, processes, f"host{process // 2}", 1, 100, 1.0, 0.0, "together", 9, 8, 0.3, False, SUM, READ, 0.4, 0.01
    )
    return replace(well, **but)  # type: ignore


def waits(process: int, processes: int = 4, **but: object) -> Beat:
    return beat(process, processes, **({"seconds": 70.0, "in_jax": True} | but))


def only(found: list[Finding]) -> Finding:
    assert len(found) == 1, found
    return found[0]


def test_where_all_is_well_there_is_nothing_to_say():
    assert judge([beat(p, seconds=59.0) for p in range(4)]) == []


def test_the_straggler_of_sixteen_is_named_with_its_host_and_its_line():
    beats = [beat(p, 16, own_seconds=0.111 if p == 5 else 0.01 + p / 1e4) for p in range(16)]
    found = only(judge(beats))
    assert (found.kind, found.processes) == ("slow", (5,))
    assert found.sentence == (
        "process 5 on host2 is slow: 0.111 s of its own before each step, the others 0.011; "
        "mostly at rows.py:7 `batch = read(path)`"
    )
    assert judge([beat(p, 16, own_seconds=0.03 if p == 5 else 0.01) for p in range(16)]) == [], "a hiccup"


def test_a_straggler_whose_line_is_not_known_yet_is_told_again_when_it_is(monkeypatch, capsys):
    def seen(place, doing="together"):
        return [beat(p, 2, doing=doing, own_at=place, own_seconds=0.1 if p else 0.01) for p in range(2)], []

    looks = iter([seen(None), seen(None), seen(READ), seen(READ), seen(READ, "ended")])
    monkeypatch.setattr(command, "Folder", lambda _: SimpleNamespace(look=lambda: next(looks)))
    monkeypatch.setattr(command, "LOOK", 0)
    assert command.watch("beats")
    told = [line for line in capsys.readouterr().out.splitlines() if " is slow" in line]
    assert ["rows.py:7" in line for line in told] == [False, True], told


def test_who_stands_outside_jax_is_waited_for_by_the_others():
    beats = [waits(p) for p in range(4)]
    beats[2] = waits(2, doing="own", in_jax=False, at=READ)
    found = only(judge(beats))
    assert (found.kind, found.processes) == ("hangs", (2,))
    assert found.sentence == (
        "process 2 on host1 has been in step 9 for 70 s, at rows.py:7 `batch = read(path)`; "
        "processes 0, 1, 3 wait in JAX, in step 9, at train.py:20 `total = sum_of(batch)`"
    )


@pytest.mark.parametrize("limit", [50.0, 60.0])
def test_before_its_first_step_is_done_a_process_has_twice_as_long(limit: float):
    beats = [waits(p, done=0, step=1, seconds=110.0) for p in range(2)]
    assert bool(judge(beats, limit)) == (limit == 50.0)


def test_who_waits_elsewhere_than_most_is_named():
    beats = [waits(p) for p in range(4)]
    beats[3] = waits(3, at=("train.py", 22, "norm = norm_of(batch)"))
    assert only(judge(beats)).processes == (3,)
    beats[3] = waits(3, step=8)
    assert only(judge(beats)).processes == (3,)


def test_of_two_that_wait_elsewhere_nobody_is_the_one():
    beats = [waits(0, 2), waits(1, 2, at=READ)]
    found = only(judge(beats))
    assert found.processes == (0, 1) and "train.py:20" in found.sentence and "rows.py:7" in found.sentence


def test_where_all_wait_on_one_line_it_says_that_lines_do_not_tell():
    found = only(judge([waits(p) for p in range(4)]))
    assert found.processes == () and found.sentence == (
        "all 4 wait in JAX, in step 9 for 70 s, at train.py:20 `total = sum_of(batch)`: their lines do not say for whom"
    )


def test_the_silent_and_the_missing_are_blamed_and_not_who_waits_for_them():
    beats = [waits(p) for p in range(4)]
    beats[1] = beat(1, silent=12.0)
    found = only(judge(beats))
    assert (found.kind, found.processes) == ("silent", (1,)) and "process 1 on host0: silent for 12 s" in found.sentence
    assert only(judge([waits(p) for p in (0, 1, 3)])).processes == (2,)
    ended = [waits(p) for p in (0, 1, 2)] + [beat(3, doing="ended", done=8)]
    assert only(judge(ended)).sentence == "process 3 on host1 has ended, after step 8"


def ended() -> int:
    """The pid of a process that has ended."""
    done = subprocess.Popen(["true"])
    done.wait()
    return done.pid


def test_a_pid_is_believed_where_it_is_the_same_process_and_only_once_beats_are_missing():
    here, mine = identity.namespace(), identity.started(os.getpid())
    gone = beat(0, 1, pid=ended(), namespace=here, started=1, silent=2.0)
    assert "ended without a word" in only(judge([gone])).sentence
    assert judge([replace(gone, silent=1.0)]) == [], "it may have written since"
    assert judge([replace(gone, namespace="another boot, or another container")]) == []
    assert judge([replace(gone, namespace="")]) == []
    assert judge([replace(gone, pid=os.getpid(), started=mine)]) == []
    if mine:  # outside Linux nobody tells
        assert only(judge([replace(gone, pid=os.getpid(), started=mine + 1)])).kind == "gone", "a number used again"


def test_from_another_pid_namespace_a_living_process_lives(tmp_path: Path):
    inside = ["unshare", "--pid", "--fork", "--mount-proc"]
    try:
        tried = subprocess.run([*inside, "true"], capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no unshare(1) here")
    if tried.returncode:
        pytest.skip(f"this user may not make a pid namespace: {tried.stderr.strip()}")
    own = Heartbeat(tmp_path)
    own.close()
    (path,) = tmp_path.iterdir()
    path.write_text(json.dumps(json.loads(path.read_text()) | {"doing": "own", "pid": ended()}))
    look = f"""
from dataclasses import replace
from minipod.watch import Folder, judge
print([f.kind for f in judge([replace(b, silent=2.0) for b in Folder({str(tmp_path)!r}).look()[0]])])
"""
    said = [subprocess.run([*how, sys.executable, "-c", look], capture_output=True, text=True) for how in (inside, [])]
    assert [s.stdout for s in said] == ["[]\n", "['gone']\n"], said


def test_of_a_process_that_has_ended_or_still_hangs_it_is_not_said_that_it_goes_on(monkeypatch, capsys):
    def seen(*but):
        return [beat(p, 4, **b) for p, b in enumerate(but)], []

    ended, hangs, silent = {"doing": "ended"}, {"seconds": 70.0}, {"silent": 12.0}
    looks = iter([
        seen(ended, hangs, hangs, {}),
        seen(ended, hangs, {}, {"silent": 4.0}),  # whether process 1 is to blame nobody can say
        seen(ended, hangs, ended, silent),
        seen(ended, ended, ended, {}),
        seen(ended, ended, ended, ended),
    ])  # fmt: skip
    monkeypatch.setattr(command, "Folder", lambda _: SimpleNamespace(look=lambda: next(looks)))
    monkeypatch.setattr(command, "LOOK", 0)
    assert command.watch("beats")
    said = [line[9:] for line in capsys.readouterr().out.splitlines()]
    assert [line for line in said if line.endswith("goes on")] == ["process 2 goes on", "process 3 goes on"], said


def test_while_one_may_be_silent_nobody_is_said_to_hang():
    assert judge([waits(0, 2), beat(1, 2, silent=4.0)]) == []


def write(folder: Path, process: int, processes: int, beats: int, **but: object) -> None:
    said = vars(beat(process, processes, beat=beats, clock=time.time())) | but
    del said["silent"], said["ahead"]
    (folder / FILES.format(f"{process:03}")).write_text(json.dumps(said))


def test_sixteen_hosts_of_which_one_has_a_wrong_clock_are_judged_as_if_it_were_right(tmp_path: Path):
    for p in range(16):
        slow = {"own_seconds": 0.2} if p == 5 else {}
        wrong = {"clock": time.time() - 61.0} if p // 2 == 4 else {}
        write(tmp_path, p, 16, 7, **slow, **wrong)
    slow, clock = judge(Folder(tmp_path).look()[0])
    assert slow.processes == (5,)
    assert clock.sentence == "the clock of host4 is 61 s behind the others': do not compare times in logs"


def test_files_of_an_earlier_start_of_more_processes_are_left_out(tmp_path: Path):
    for p, processes in ((0, 2), (1, 2), (2, 4), (3, 4)):
        write(tmp_path, p, processes, 3)
    assert [b.process for b in Folder(tmp_path).look()[0]] == [0, 1]


def test_a_file_that_is_cut_off_is_one_sentence_and_the_others_are_read(tmp_path: Path, capsys):
    write(tmp_path, 0, 2, 1)
    whole = (tmp_path / "minipod-beat-000.json").read_text()
    for cut in ("", whole[:50], "{}", "[]", "null"):
        (tmp_path / "minipod-beat-001.json").write_text(cut)
        beats, unreadable = Folder(tmp_path).look()
        assert [b.process for b in beats] == [0]
        assert unreadable == ["minipod-beat-001.json is cut off, or no heartbeat: is the disk full?"]
    for path in tmp_path.iterdir():
        path.write_bytes(b"\xff\x00")
    assert main(["watch", str(tmp_path), "--once"]) == 2
    assert "minipod-beat-000.json is cut off" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("make", "arguments", "sentence"),
    [
        (None, [], "there is no such folder: has the program called Heartbeat(folder)?"),
        ("file", [], "is a file: name the folder that the program gave to Heartbeat"),
        ("folder", [], "no process has left a heartbeat here (a file such as minipod-beat-000.json)"),
        ("folder", ["--limit", "0"], "--limit should be 1 second or more, not 0"),
        ("folder", ["--limit", "nan"], "--limit should be 1 second or more, not nan"),
    ],
)
@pytest.mark.parametrize("how", [[], ["--once"], ["--prometheus"]])
def test_what_cannot_be_watched_is_one_sentence(make, arguments, sentence, how, tmp_path: Path, capsys):
    path = tmp_path / "beats"
    if make == "file":
        path.write_text("")
    elif make:
        path.mkdir()
    assert main(["watch", str(path), *how, *arguments]) == 2
    said = capsys.readouterr()
    assert said.err.endswith(sentence + "\n") and said.err.count("\n") == 1 and said.out == ""


def test_what_prometheus_reads_is_what_was_found():
    beats = [waits(p, 3, host='a"b\\c') for p in range(3)]
    beats[2] = waits(2, 3, host='a"b\\c', in_jax=False, step_seconds=None)
    read = {f.name: f for f in text_string_to_metric_families(prometheus(beats, judge(beats)) + "\n")}
    assert [s.value for s in read["minipod_done_step"].samples] == [8.0] * 3
    assert [s.labels["process"] for s in read["minipod_step_seconds"].samples] == ["0", "1"]
    assert read["minipod_standing_seconds"].samples[2].value == 70.0
    (named,) = read["minipod_found"].samples
    assert named.labels == {"process": "2", "host": 'a"b\\c', "kind": "hangs"} and named.value == 1.0
    assert all(f.type == "gauge" and f.documentation for f in read.values())


def test_a_page_has_a_line_for_each_and_what_is_wrong():
    lines = page([waits(0, 2), waits(1, 2, in_jax=False)], judge([waits(0, 2), waits(1, 2, in_jax=False)])).splitlines()
    assert len(lines) == 4 and lines[1].split()[:4] == ["0", "host0", "8", "0.400"]
    assert lines[3].startswith("process 1 has been in step 9 for 70 s")


def test_a_heartbeat_says_where_its_process_stands_and_that_it_ends(tmp_path: Path):
    write(tmp_path, 9, 10, 3)  # of an earlier start, of ten processes
    own = Heartbeat(tmp_path / ".", every=0.05)
    for step in (1, 2, 3):
        own.begin(step)
        time.sleep(0.01)
        own.ready()
        own.done()
    own.begin(4)
    own.begin(5)  # the one before is done
    time.sleep(0.3)
    ((said,), unreadable) = Folder(tmp_path).look()
    assert not unreadable and (said.process, said.processes, said.pid) == (0, 1, os.getpid())
    assert (said.doing, said.step, said.done) == ("own", 5, 4) and 0.1 < said.seconds < 10
    assert said.at and said.at[0] == "test_watch.py" and said.at[2] == "time.sleep(0.3)"
    assert said.own_seconds and said.own_seconds > 0.01 and own.own == pytest.approx(said.own_seconds, abs=1e-5)
    own.close()
    ((said,), _) = Folder(tmp_path).look()
    assert said.doing == "ended"


def test_what_others_have_put_into_the_folder_stays_as_it_is(tmp_path: Path):
    folder = tmp_path / "data"
    folder.mkdir()
    theirs = {name: f"of {name}" for name in ("000.json", "1999.json", "minipod-beat-2024.json", "minipod-beat-x.json")}
    for name, text in theirs.items():
        (folder / name).write_text(text)
    (tmp_path / "linked").write_text("of others")
    (folder / ".minipod-beat-000.json.tmp").symlink_to(tmp_path / "linked")
    write(folder, 7, 8, 3)  # of an earlier start
    Heartbeat(folder).close()
    assert {p.name: p.read_text() for p in folder.iterdir() if p.name != "minipod-beat-000.json"} == theirs
    assert (tmp_path / "linked").read_text() == "of others"
    assert [b.process for b in Folder(folder).look()[0]] == [0]


def test_who_ends_while_it_is_being_written_down_says_so_all_the_same(tmp_path: Path, monkeypatch):
    writing, go_on = threading.Event(), threading.Event()
    told = Heartbeat._told

    def slowly(self):
        said = told(self)
        if said["doing"] != "ended":
            writing.set()
            go_on.wait(10)
        return said

    monkeypatch.setattr(Heartbeat, "_told", slowly)
    own = Heartbeat(tmp_path, every=0.01)
    own.begin(1)
    assert writing.wait(10)
    ending = threading.Thread(target=own.close)
    ending.start()
    assert own._end.wait(10)
    go_on.set()
    ending.join(10)
    ((said,), _) = Folder(tmp_path).look()
    assert said.doing == "ended"


def test_a_disk_that_refuses_is_no_reason_to_end(tmp_path: Path):
    own = Heartbeat(tmp_path / "beats", every=0.05)
    (tmp_path / "beats").rename(tmp_path / "elsewhere")
    own.begin(1)
    time.sleep(0.2)
    assert not (tmp_path / "beats").exists()
    assert own._thread.is_alive()
    own.close()


def watched(folder: Path, fault: str, processes: int, *how: str) -> tuple[str, int, cluster.Run]:
    """What `minipod watch` printed beside a cluster in which the last process goes wrong; its exit code; the run."""
    (folder / "program.py").write_text(PROGRAM)
    beats = folder / "beats"
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(
            cluster.run, folder / "program.py", fault, processes=processes, devices=1, limit=25, check=False
        )
        until = time.monotonic() + 30
        while len(list(beats.glob("*.json"))) < processes and time.monotonic() < until:
            time.sleep(0.1)
        command = [sys.executable, "-m", "minipod", "watch", str(beats), "--limit", "3", *how]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        return done.stdout + done.stderr, done.returncode, running.result()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def line_of(text: str) -> int:
    return next(n for n, line in enumerate(PROGRAM.splitlines(), 1) if text in line)


@pytest.mark.long
@pytest.mark.parametrize("processes", [2, 4])
@pytest.mark.parametrize(("fault", "stands"), [("hang", "time.sleep(1000)"), ("disk", "os.read(os.pipe()[0], 1)")])
def test_who_hangs_is_named_while_it_hangs(here: Path, fault: str, stands: str, processes: int):
    said, code, run = watched(here, fault, processes)
    assert code == 1 and not run.ok, f"{said}{run}"
    first = said.splitlines()[1]
    assert f"process {processes - 1} has been in step 8 for" in first, said
    assert f"program.py:{line_of(stands)} `{stands}`" in first
    assert f"in JAX, in step 8, at program.py:{line_of('process_allgather(np.ones(2))')}" in first


@pytest.mark.long
@pytest.mark.parametrize(("fault", "why"), [("STOP", "suspended (SIGSTOP)"), ("KILL", "ended without a word")])
def test_who_is_stopped_or_killed_is_named_first(here: Path, fault: str, why: str):
    said, code, _ = watched(here, fault, 3)
    assert code == 1 and f" process 2: {why}" in said.splitlines()[1] and "last seen in step 8" in said, said


@pytest.mark.long
def test_who_asks_for_something_else_is_named(here: Path):
    said, code, _ = watched(here, "other", 4)
    assert code == 1
    assert "process 3 has been in step 8 for" in said, said


@pytest.mark.long
@pytest.mark.parametrize("processes", [2, 4])
def test_the_slow_one_is_named_and_the_end_of_all_is_told(here: Path, processes: int):
    said, code, run = watched(here, "slow", processes)
    assert run.ok and code == 1
    assert f"process {processes - 1} is slow: 0.15" in said and "`time.sleep(0.15)`" in said, said
    assert said.splitlines()[-1].endswith("all have ended; step 40 is done")


@pytest.mark.long
def test_a_quiet_run_is_well(here: Path):
    said, code, run = watched(here, "none", 2)
    assert run.ok and code == 0, said


def test_a_page_of_a_living_process_takes_a_second(tmp_path: Path, capsys):
    own = Heartbeat(tmp_path, every=0.2)
    began = time.monotonic()
    while not any(tmp_path.glob("*.json")) and time.monotonic() - began < 30:
        time.sleep(0.05)  # its first beat
    assert main(["watch", str(tmp_path), "--once"]) == 0
    assert time.monotonic() - began < 60 and "process" in capsys.readouterr().out
    own.close()
