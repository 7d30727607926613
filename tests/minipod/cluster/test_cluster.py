"""minipod.cluster when all goes well, what it refuses, and what it hands to `jax.distributed.initialize`."""

import os
import selectors
import socket
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from minipod import cluster, processes
from minipod.cluster import launch
from minipod.cluster.process import start, without_noise
from minipod.cluster.result import Run

PSUM = """
import sys
import jax
import numpy as np
from minipod.cluster import launch_arguments
jax.distributed.initialize(**launch_arguments())
mesh = jax.make_mesh((jax.device_count(),), ("x",))
ones = np.ones(jax.local_device_count(), np.float32)
x = jax.make_array_from_process_local_data(jax.NamedSharding(mesh, jax.P("x")), ones)  # f32[devices]
total = jax.jit(jax.shard_map(lambda x: jax.lax.psum(x, "x"), mesh=mesh, in_specs=jax.P("x"), out_specs=jax.P()))(x)
print("process", jax.process_index(), "of", jax.process_count(), "sees", float(np.asarray(total)[0]))
print("arguments", sys.argv[1:], file=sys.stderr)
"""
GLOO = "[Gloo] Rank {} is connected to 7 peer ranks. Expected number of connected peer ranks is : 7"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_psum_over_two_processes_of_four_devices_is_eight_in_both_and_outputs_are_separate(here: Path):
    (here / "psum.py").write_text(PSUM)
    done = cluster.run("psum.py", "--rate", "0.1", processes=2, devices=4)
    assert done.outputs == [f"process {i} of 2 sees 8.0\narguments ['--rate', '0.1']\n" for i in (0, 1)]
    assert done.codes == [0, 0] and done.ok and done.first_failure is None and done.exit_code == 0
    assert 0 < done.seconds < 60


def test_three_processes_of_two_devices_make_six(here: Path):
    (here / "psum.py").write_text(PSUM)
    done = cluster.run("psum.py", processes=3, devices=2)
    assert [text.splitlines()[0] for text in done.outputs] == [f"process {i} of 3 sees 6.0" for i in range(3)]


def test_a_program_is_main_with_its_folder_on_the_path(here: Path):
    (here / "sub").mkdir()
    (here / "sub" / "helper.py").write_text("value = 42")
    (here / "sub" / "p.py").write_text(
        "import helper, sys, __main__\nassert __name__ == '__main__' and __main__.helper is helper\n"
        "print(helper.value, __file__, sys.argv, sys.stdin.read() == '')"
    )
    path = os.path.join("sub", "p.py")
    assert cluster.run(path, "a", processes=1).outputs == [f"42 {path} {[path, 'a']} True\n"]


def test_multiprocessing_with_spawn_works_in_a_program(here: Path):
    (here / "p.py").write_text(
        "import multiprocessing as mp\ndef double(x): return 2 * x\n"
        "if __name__ == '__main__':\n"
        "    with mp.get_context('spawn').Pool(1) as pool: print(pool.map(double, [1, 2]))\n"
    )
    assert cluster.run("p.py", processes=1).outputs == ["[2, 4]\n"]


def test_a_module_runs_by_name(here: Path):
    (here / "pack").mkdir()
    (here / "pack" / "__init__.py").touch()
    (here / "pack" / "mod.py").write_text("import sys; print(__name__, __package__, sys.argv[1:])")
    assert cluster.run("pack.mod", "1", processes=1, module=True).outputs == ["__main__ pack ['1']\n"]


def test_a_program_is_found_beside_the_running_script_too(here: Path, monkeypatch: pytest.MonkeyPatch):
    (here / "lesson").mkdir()
    (here / "lesson" / "p.py").write_text("print('found')")
    monkeypatch.setattr(sys.modules["__main__"], "__file__", str(here / "lesson" / "demo.py"), raising=False)
    assert cluster.run("p.py", processes=1).outputs == ["found\n"]


def test_lines_are_shown_as_they_come(here: Path):
    (here / "p.py").write_text(
        "import pathlib, time\nprint('first')\n"
        "while not pathlib.Path('seen').exists(): time.sleep(0.01)\nprint('last', end='')"
    )
    seen = []

    def show(process: int, line: str) -> None:
        seen.append((process, line))
        (here / "seen").touch()  # only then the program goes on

    cluster.run("p.py", processes=1, show=show)
    assert seen == [(0, "first"), (0, "last")]


def test_children_get_the_devices_the_environment_and_the_collective_timeout(here: Path, monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_a=1")
    names = ["JAX_PLATFORMS", "JAX_NUM_CPU_DEVICES", "XLA_FLAGS", "MINIPOD_PROCESSES", "MINIPOD_PROCESS", "MORE"]
    (here / "p.py").write_text(f"import os; print([os.environ.get(n) for n in {names}])")
    done = cluster.run("p.py", processes=1, devices=3, collective_timeout=7, env={"MORE": "x"})
    flags = "--xla_a=1 --xla_cpu_collective_timeout_seconds=7"
    assert done.outputs == [f"{['cpu', '3', flags, '1', '0', 'x']}\n"]


def test_endless_printing_is_kept_up_to_a_million_characters(here: Path):
    (here / "p.py").write_text("for i in range(60_000): print('x' * 99)")
    text = cluster.run("p.py", processes=1).outputs[0]
    assert 999_000 < len(text) < 1_001_000 and text.endswith("… (more was printed than is kept here)\n")


@pytest.mark.parametrize(
    ("numbers", "says"),
    [
        ({"processes": 0}, "0 processes: between 1 and 16"),
        ({"processes": 17}, "17 processes"),
        ({"devices": 0}, "each process needs at least 1"),
        ({"devices": 5000}, "2 × 5000 = 10000 devices are too many"),
        ({"limit": 0}, "limit 0: a positive number"),
        ({"limit": float("inf")}, "limit inf"),
        ({"collective_timeout": 0}, "at least 1 second"),
        ({"port": 80}, "port 80: between 1024 and 65535"),
    ],
)
def test_impossible_numbers_are_refused_before_anything_starts(here: Path, numbers: dict, says: str):
    (here / "p.py").write_text("print()")
    with pytest.raises(ValueError, match=says):
        cluster.run("p.py", **numbers)


def test_a_taken_port_is_refused_and_a_free_one_used(here: Path):
    (here / "p.py").write_text("import os; print(os.environ['MINIPOD_COORDINATOR'])")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ValueError, match=f"port {port} is taken"):
            cluster.run("p.py", port=port)
    assert cluster.run("p.py", processes=1, port=port).outputs == [f"127.0.0.1:{port}\n"]


def test_a_missing_program_or_module_is_named(here: Path):
    with pytest.raises(FileNotFoundError, match="nope.py: there is no such program"):
        cluster.run("nope.py")
    with pytest.raises(FileNotFoundError, match="is a folder, not a program"):
        cluster.run(".")
    with pytest.raises(FileNotFoundError, match="no_such_module: there is no such module"):
        cluster.run("no_such_module", module=True)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only Linux lists a process's open files")
def test_a_process_that_cannot_be_started_leaves_no_pipe_open():
    before = os.listdir("/proc/self/fd")
    with selectors.DefaultSelector() as channels, pytest.raises(FileNotFoundError):
        start(0, ["prog.py"], dict(os.environ), channels, None, place=["/no/such/program"])
    assert os.listdir("/proc/self/fd") == before


def test_elsewhere_there_are_no_launch_arguments(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("MINIPOD_COORDINATOR", raising=False)
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    assert cluster.launch_arguments() == {}


def _as_process(monkeypatch: pytest.MonkeyPatch, process: int, port: int, limit: int) -> None:
    names = {"COORDINATOR": f"127.0.0.1:{port}", "PROCESSES": 2, "PROCESS": process, "LIMIT": limit}
    for name, value in names.items():
        monkeypatch.setenv(f"MINIPOD_{name}", str(value))


def test_process_0_gets_the_loopback_address_to_bind(monkeypatch: pytest.MonkeyPatch):
    _as_process(monkeypatch, 0, 45678, 30)
    assert cluster.launch_arguments() == {
        "coordinator_address": "127.0.0.1:45678",
        "num_processes": 2,
        "process_id": 0,
        "coordinator_bind_address": "127.0.0.1:45678",
        "initialization_timeout": 30,
        "heartbeat_timeout_seconds": 10,
        "shutdown_timeout_seconds": 30,
    }


def test_process_1_waits_for_the_coordinator_to_listen(monkeypatch: pytest.MonkeyPatch):
    with socket.socket() as coordinator:
        coordinator.bind(("127.0.0.1", 0))
        _as_process(monkeypatch, 1, coordinator.getsockname()[1], 10)
        threading.Timer(0.4, coordinator.listen).start()
        began = time.monotonic()
        assert cluster.launch_arguments()["process_id"] == 1
        assert time.monotonic() - began > 0.3


def test_process_1_says_so_if_the_coordinator_never_comes(monkeypatch: pytest.MonkeyPatch):
    with socket.socket() as never_listens:
        never_listens.bind(("127.0.0.1", 0))
        _as_process(monkeypatch, 1, never_listens.getsockname()[1], 1)
        with pytest.raises(TimeoutError, match="process 0 has not called jax.distributed.initialize within 1 s"):
            cluster.launch_arguments()


def test_html_has_a_section_per_process_and_escapes_what_was_printed():
    page = Run(["<script>alert(1)</script> & co\n", "b\n"], [0, 1], 1.0, "process 1 waits in `<b>`")._repr_html_()
    assert page.count("<section") == 2 and "process 0</p>" in page and "process 1</p>" in page
    assert "<script" not in page and "&lt;script&gt;alert(1)&lt;/script&gt; &amp; co" in page
    assert "process 1 waits in <code>&lt;b&gt;</code></p>" in page and 'class="minipod processes"' in page


def test_as_text_each_line_begins_with_its_process():
    run = Run(["a\nb\n", "c\n"], [0, 1], 1.0, "process 1 ended with exit status 1")
    assert str(run) == repr(run) == "[0] a\n[0] b\n[1] c\nprocess 1 ended with exit status 1"


@pytest.mark.parametrize(
    ("native", "left"),
    [
        ([GLOO.format(0), GLOO.format(1)], []),
        ([GLOO.format(0) + GLOO.format(1), "", "a"], ["a"]),  # two threads, one line, the line ends later
        (["[Gloo] Rank [Gloo] Rank 45 is connected to  is connected to 7 peer ranks. 7", "7", ""], []),
        (["[Gloo] Rank 1 is connected to 7 peer ranks. ", "b"], ["b"]),  # torn in the middle
        (["before " + GLOO.format(0)], ["before "]),
        (["7", "", "Rank 3 is best"], ["7", "", "Rank 3 is best"]),  # nobody's noise
        (["[Gloo] cannot connect"], ["[Gloo] cannot connect"]),  # an error must show
    ],
)
def test_gloo_noise_goes_and_everything_else_stays(native: list[str], left: list[str]):
    kept, noisy = [], False
    for line in native:
        line, noisy = without_noise(line, noisy)
        if not noisy:
            kept.append(line)
    assert kept == left


def test_each_process_can_have_an_environment_of_its_own(here: Path):
    (here / "p.py").write_text("import os\nprint(os.environ['MINE'], os.environ.get('MINIPOD_PROCESS'))")
    done = cluster.run("p.py", env=[{"MINE": "a"}, {"MINE": "b", "MINIPOD_PROCESS": "7"}])
    assert done.outputs == ["a 0\n", "b 1\n"]
    with pytest.raises(ValueError, match="3 environments for 2 processes"):
        cluster.run("p.py", env=[{}] * 3)


def test_a_traceback_shows_the_programs_own_lines_and_all_of_them_on_demand(here: Path):
    (here / "p.py").write_text("import json\ndef f():\n    json.loads('{')\nf()\n")
    short = cluster.run("p.py", processes=1, check=False).outputs[0]
    assert short.splitlines()[:5] == [
        "Traceback (most recent call last):",
        '  File "p.py", line 4, in <module>',
        "    f()",
        '  File "p.py", line 3, in f',
        "    json.loads('{')",
    ]
    assert "decoder.py" not in short and short.splitlines()[5].startswith("json.decoder.JSONDecodeError: ")
    whole = cluster.run("p.py", processes=1, check=False, env={"JAX_TRACEBACK_FILTERING": "off"}).outputs[0]
    assert "decoder.py" in whole


def test_where_says_the_line_that_each_process_waits_in(here: Path):
    (here / "p.py").write_text(
        "import os, time\nif os.environ['MINIPOD_PROCESS'] == '0':\n    time.sleep(50)\nelse:\n    time.sleep(40)\n"
    )
    for limit in (2, 4, 8, 16, 32):  # until both have come so far
        done = cluster.run("p.py", limit=limit, check=False)
        if all(done.stacks):
            break
    assert done.stacks == ["p.py:3 time.sleep(50)", "p.py:5 time.sleep(40)"]
    assert str(done.where()) == "[0] p.py:3 time.sleep(50)\n[1] p.py:5 time.sleep(40)"
    assert done.where()._repr_html_().count("<section") == 2


def test_survivors_go_on_when_one_has_failed(here: Path):
    (here / "p.py").write_text(
        "import os, sys, time\nif os.environ['MINIPOD_PROCESS'] == '0':\n    sys.exit(3)\n"
        "time.sleep(float(sys.argv[1]))\nprint('here')"
    )
    assert cluster.run("p.py", "50", check=False).outputs[1] == ""
    done = cluster.run("p.py", "6", check=False, survivors=True)
    assert done.outputs[1] == "here\n" and done.codes == [3, 0] and not done.ok


def test_the_machine_has_room_for_so_many_processes_and_no_more(here: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tempfile, "tempdir", str(here))  # places of our own
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr(launch, "MACHINE", 2)
    (here / "p.py").write_text(
        "import pathlib, time\nprint('up')\nwhile not pathlib.Path('go').exists(): time.sleep(0.01)\n"
    )
    up = threading.Event()
    with ThreadPoolExecutor() as pool:
        first = pool.submit(cluster.run, "p.py", processes=1, show=lambda *_: up.set())
        assert up.wait(60)
        with pytest.raises(TimeoutError, match="^2 processes: 1 of at most 2 run on this machine already"):
            cluster.run("p.py", processes=2)
        (here / "go").touch()
        assert first.result().ok
    (here / "p.py").write_text("print('done')")
    assert cluster.run("p.py", processes=2).outputs == ["done\n"] * 2  # the places are free again


def test_a_free_port_is_given_once_and_the_system_gives_it_to_nobody(here: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tempfile, "tempdir", str(here))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    with ThreadPoolExecutor(8) as pool:
        ports = list(pool.map(lambda _: processes.free_port(), range(200)))
    assert len(set(ports)) == 200
    system = Path("/proc/sys/net/ipv4/ip_local_port_range")
    assert max(ports) < (int(system.read_text().split()[0]) if system.exists() else 49152)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", last := processes.free_port()))
        taken.listen()
        (count,) = here.glob("minipod-*/last-port")
        count.write_text(str(last - 1 - 20000))  # as if it came round again
        assert processes.free_port() == last + 1
    count.write_text("no number")
    assert processes.free_port() in range(20000, 32000)


def test_programs_that_have_finished_well_did_so_even_if_their_exit_hangs(here: Path):
    (here / "p.py").write_text("import atexit, time\natexit.register(time.sleep, 100)\nprint('done')")
    done = cluster.run("p.py", limit=30)
    assert done.outputs == ["done\n"] * 2 and done.codes == [0, 0] and done.ok and done.seconds < 25
