"""`minipod watch`: who hangs and who is slow, from what the processes leave in files; judged, and in real clusters."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from still_running import until

from minipod import cluster
from minipod.__main__ import main
from minipod.cluster import Heartbeat
from minipod.cluster.heartbeat import FILES
from minipod.processes import identity
from minipod.watch import Beat, Finding, Folder, judge, watching
from minipod.watch.page import page, prometheus

SUM = ("train.py", 20, "total = sum_of(batch)")
READ = ("rows.py", 7, "batch = read(path)")
PROGRAM = """
import sys, time
import jax, numpy as np
from jax.experimental.multihost_utils import process_allgather
from minipod.cluster import Heartbeat, launch_arguments
jax.distributed.initialize(**launch_arguments())
beat = Heartbeat(sys.argv[1], every=0.2)
for step in range(1, 9):
    beat.begin(step)
    if step == 8 and jax.process_index() == 2:
        time.sleep(1000)
    beat.ready()
    process_allgather(np.ones(2))
    beat.done()
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


def test_the_straggler_of_sixteen_is_named_with_its_host_and_its_line_and_nobody_while_all_may_be_well():
    assert judge([beat(p, seconds=59.0) for p in range(4)]) == [], "all is well"
    assert judge([beat(p, 16, own_seconds=0.03 if p == 5 else 0.01) for p in range(16)]) == [], "a hiccup"
    first = [waits(p, done=0, step=1, seconds=110.0) for p in range(2)]
    assert judge(first, 50.0) and not judge(first, 60.0), "the first step has twice as long"
    assert judge([waits(0, 2), beat(1, 2, silent=4.0)]) == [], "process 1 may be silent"
    found = only(judge([beat(p, 16, own_seconds=0.111 if p == 5 else 0.01 + p / 1e4) for p in range(16)]))
    assert (found.kind, found.processes) == ("slow", (5,))
    assert found.sentence == (
        "process 5 on host2 is slow: its own part of a step takes 0.111 s, the others' 0.011 s; "
        "mostly at rows.py:7 `batch = read(path)`"
    )


def looked_at(monkeypatch, capsys, *looks: list[Beat]) -> list[str]:
    """What `minipod watch` prints that sees this, one after the other."""
    seen = iter(looks)
    monkeypatch.setattr(watching, "Folder", lambda _: SimpleNamespace(look=lambda: (next(seen), [])))
    monkeypatch.setattr(watching, "LOOK", 0)
    assert watching.watch("beats")
    return [line[9:] for line in capsys.readouterr().out.splitlines()]


def test_a_straggler_whose_line_is_not_known_yet_is_told_again_when_it_is(monkeypatch, capsys):
    def seen(place, doing="together"):
        return [beat(p, 2, doing=doing, own_at=place, own_seconds=0.1 if p else 0.01) for p in range(2)]

    said = looked_at(monkeypatch, capsys, seen(None), seen(None), seen(READ), seen(READ), seen(READ, "ended"))
    assert ["rows.py:7" in line for line in said if " is slow" in line] == [False, True], said
    assert said[-1] == "all processes have ended; last step done: 8"


@pytest.mark.parametrize(
    ("beats", "kind", "processes", "sentence"),
    [
        (
            [waits(0), waits(1), waits(2, doing="own", in_jax=False, at=READ), waits(3)], "hangs", (2,),
            "process 2 on host1 has been in step 9 for 70 s, at rows.py:7 `batch = read(path)`; "
            "processes 0, 1, 3 wait in JAX, in step 9, at train.py:20 `total = sum_of(batch)`",
        ),
        # elsewhere than most, though in JAX, too
        ([waits(0), waits(1), waits(2), waits(3, at=("train.py", 22, "norm = norm_of(batch)"))], "hangs", (3,), "22"),
        ([waits(0), waits(1), waits(2), waits(3, step=8)], "hangs", (3,), ""),
        # of two that wait elsewhere, and where all wait on one line, none is the cause
        ([waits(0, 2), waits(1, 2, at=READ)], "hangs", (0, 1), "rows.py:7"),
        (
            [waits(p) for p in range(4)], "hangs", (),
            "all 4 processes wait in JAX, in step 9 for 70 s, at train.py:20 `total = sum_of(batch)`; "
            "the heartbeats do not show which process they wait for",
        ),
        # the silent and the missing are blamed, and not those that wait for them
        ([waits(0), beat(1, silent=12.0), waits(2), waits(3)], "silent", (1,), "process 1 on host0: silent for 12 s"),
        ([waits(p) for p in (0, 1, 3)], "gone", (2,), ""),
        (
            [waits(0), waits(1), waits(2), beat(3, doing="ended", done=8)], "gone", (3,),
            "process 3 on host1 has ended after step 8",
        ),
    ],
)  # fmt: skip
def test_the_process_for_which_the_others_wait_is_named(beats, kind, processes, sentence):
    finding = only(judge(beats))
    assert (finding.kind, finding.processes) == (kind, processes) and sentence in finding.sentence


def ended() -> int:
    """The pid of a process that has ended."""
    done = subprocess.Popen(["true"])
    done.wait()
    return done.pid


def test_a_pid_is_believed_where_it_is_the_same_process_and_only_once_beats_are_missing():
    here, mine = identity.namespace(), identity.started(os.getpid())
    gone = beat(0, 1, pid=ended(), namespace=here, started=1, silent=2.0)
    assert "ended without a message" in only(judge([gone])).sentence
    assert judge([replace(gone, silent=1.0)]) == [], "it may have written since"
    assert judge([replace(gone, namespace="another boot, or another container")]) == []
    assert judge([replace(gone, namespace="")]) == []
    assert judge([replace(gone, pid=os.getpid(), started=mine)]) == []
    with subprocess.Popen(["sleep", "1000"]) as stopped:
        try:
            stopped.send_signal(signal.SIGSTOP)
            asleep = replace(gone, pid=stopped.pid, started=identity.started(stopped.pid))
            assert until(lambda: judge([asleep]), 30) and "suspended (SIGSTOP)" in only(judge([asleep])).sentence
        finally:  # or Popen would wait for it
            stopped.kill()
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
    ended, hangs, silent = {"doing": "ended"}, {"seconds": 70.0}, {"silent": 12.0}
    looks = [
        (ended, hangs, hangs, {}),
        (ended, hangs, {}, {"silent": 4.0}),  # whether process 1 is to blame nobody can say
        (ended, hangs, ended, silent),
        (ended, ended, ended, {}),
        (ended, ended, ended, ended),
    ]
    said = looked_at(monkeypatch, capsys, *([beat(p, 4, **but) for p, but in enumerate(look)] for look in looks))
    assert [line for line in said if "again" in line] == [f"process {p} is working again" for p in (2, 3)], said


def write(folder: Path, process: int, processes: int, beats: int, **but: object) -> None:
    said = vars(beat(process, processes, beat=beats, clock=time.time())) | but
    del said["silent"], said["ahead"]
    (folder / FILES.format(f"{process:03}")).write_text(json.dumps(said))


def test_sixteen_hosts_of_which_one_has_a_wrong_clock_are_judged_as_if_it_were_right(tmp_path: Path):
    for p in range(16):
        slow = {"own_seconds": 0.2} if p == 5 else {}
        wrong = {"clock": time.time() - 61.0} if p // 2 == 4 else {}
        write(tmp_path, p, 16, 7, **slow, **wrong)
    write(tmp_path, 20, 32, 3)  # of an earlier start of more processes
    slow, clock = judge(Folder(tmp_path).look()[0])
    assert slow.processes == (5,)
    assert clock.sentence == "the clock of host4 is 61 s behind the others': do not compare times in logs"


def test_a_file_that_is_cut_off_is_one_sentence_and_the_others_are_read(tmp_path: Path, capsys):
    write(tmp_path, 0, 2, 1)
    whole = (tmp_path / "minipod-beat-000.json").read_text()
    for cut in ("", whole[:50], "{}", "[]", "null"):
        (tmp_path / "minipod-beat-001.json").write_text(cut)
        beats, unreadable = Folder(tmp_path).look()
        assert [b.process for b in beats] == [0]
        assert unreadable == ["minipod-beat-001.json is not a heartbeat that this version of minipod can read"]
    for path in tmp_path.iterdir():
        path.write_bytes(b"\xff\x00")
    assert main(["watch", str(tmp_path), "--once"]) == 2
    assert "minipod-beat-000.json is not a heartbeat" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("make", "arguments", "sentence"),
    [
        (Path.exists, [], "there is no such folder; does the program call Heartbeat(folder)?"),
        (Path.touch, [], "is a file: give the folder that the program passes to Heartbeat"),
        (Path.mkdir, [], "there is no heartbeat here (a file such as minipod-beat-000.json)"),
        (Path.mkdir, ["--limit", "0"], "--limit must be 1 second or more, not 0"),
    ],
)
def test_what_cannot_be_watched_is_one_sentence(make, arguments, sentence, tmp_path: Path, capsys):
    path = tmp_path / "beats"
    make(path)
    for how in ([], ["--once"], ["--prometheus"]):
        assert main(["watch", str(path), *how, *arguments]) == 2
        said = capsys.readouterr()
        assert said.err.endswith(sentence + "\n") and said.err.count("\n") == 1 and said.out == ""


def test_what_prometheus_and_the_page_say_is_what_was_found():
    parser = pytest.importorskip("prometheus_client.parser", reason="pip install prometheus-client")
    beats = [waits(p, 3, host='a"b\\c') for p in range(3)]
    beats[2] = waits(2, 3, host='a"b\\c', in_jax=False, step_seconds=None)
    read = {f.name: f for f in parser.text_string_to_metric_families(prometheus(beats, judge(beats)) + "\n")}
    assert [s.value for s in read["minipod_done_step"].samples] == [8.0] * 3
    assert [s.labels["process"] for s in read["minipod_step_seconds"].samples] == ["0", "1"]
    assert read["minipod_standing_seconds"].samples[2].value == 70.0
    (named,) = read["minipod_found"].samples
    assert named.labels == {"process": "2", "host": 'a"b\\c', "kind": "hangs"} and named.value == 1.0
    assert all(f.type == "gauge" and f.documentation for f in read.values())
    lines = page(beats, judge(beats)).splitlines()
    assert len(lines) == 5 and lines[1].split()[:4] == ["0", 'a"b\\c', "8", "0.400"]
    assert lines[4].startswith("process 2 has been in step 9 for 70 s")


def test_a_heartbeat_says_where_its_process_stands_and_that_it_ends(tmp_path: Path, capsys):
    write(tmp_path, 9, 10, 3)  # of an earlier start, of ten processes
    own = Heartbeat(tmp_path / ".", every=0.05)
    for step in (1, 2, 3):
        own.begin(step)
        time.sleep(0.01)
        own.ready()
        own.done()
    own.begin(4)
    own.begin(5)  # the one before is done
    for _ in range(6000):
        time.sleep(0.05)
        (said, *others), unreadable = Folder(tmp_path).look()
        if said.step == 5 and said.seconds > 0.1 and said.at and said.at[2] == "time.sleep(0.05)":
            break  # it was told while we slept
    assert not others and not unreadable and (said.process, said.processes, said.pid) == (0, 1, os.getpid())
    assert (said.doing, said.step, said.done, said.at and said.at[0]) == ("own", 5, 4, "test_watch.py")
    assert said.own_seconds and said.own_seconds > 0.01 and own.own == pytest.approx(said.own_seconds, abs=1e-5)
    assert main(["watch", str(tmp_path), "--once"]) == 0 and "process" in capsys.readouterr().out
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
            go_on.wait(300)
        return said

    monkeypatch.setattr(Heartbeat, "_told", slowly)
    own = Heartbeat(tmp_path, every=0.01)
    own.begin(1)
    assert writing.wait(300)
    ending = threading.Thread(target=own.close)
    ending.start()
    assert own._end.wait(300)
    go_on.set()
    ending.join(300)
    ((said,), _) = Folder(tmp_path).look()
    assert said.doing == "ended"


def test_a_disk_that_refuses_is_no_reason_to_end(tmp_path: Path):
    own = Heartbeat(tmp_path / "beats", every=0.05)
    (tmp_path / "beats").rename(tmp_path / "elsewhere")
    own.begin(1)
    time.sleep(0.2)
    assert not (tmp_path / "beats").exists() and own._thread.is_alive()
    own.close()


@pytest.mark.long
def test_in_a_cluster_the_process_that_hangs_is_named_and_those_that_wait_for_it_in_jax(tmp_path: Path):
    program, beats = tmp_path / "program.py", tmp_path / "beats"
    program.write_text(PROGRAM)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(cluster.run, program, str(beats), processes=3, devices=1, limit=60, check=False)
        assert until(lambda: len(list(beats.glob("*.json"))) == 3 or running.done())
        command = [sys.executable, "-m", "minipod", "watch", str(beats), "--limit", "3"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert done.returncode == 1 and not running.result().ok, done
    said = done.stdout.splitlines()[1]
    assert "process 2 has been in step 8 for" in said
    assert "at program.py:11 `time.sleep(1000)`; processes 0, 1 wait in JAX" in said
