"""minipod.cluster when all goes well, what it refuses, and what it hands to `jax.distributed.initialize`."""

import os
import selectors
import socket
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from cluster_programs import PSUM

from minipod import cluster, processes
from minipod.cluster import launch
from minipod.cluster.process import start, without_noise
from minipod.cluster.result import Run

GLOO = "[Gloo] Rank {} is connected to 7 peer ranks. Expected number of connected peer ranks is : 7"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(program: str, *arguments: str, processes: int = 1, **options) -> cluster.Run:
    """The program, as a file of this folder."""
    Path("p.py").write_text(program)
    return cluster.run("p.py", *arguments, processes=processes, **options)


def test_a_psum_over_two_processes_is_six_in_both_outputs_are_separate_and_a_proxy_is_not_in_the_way(monkeypatch):
    for name in processes.environment.proxies():
        monkeypatch.delenv(name)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")  # nobody listens there
    done = run(PSUM + "print(sys.argv[1:], file=sys.stderr)", "--rate", "0.1", processes=2, devices=3, limit=600)
    said = [f"6.0 {i} 2 {socket.gethostname()} 127.0.0.1\n['--rate', '0.1']\n" for i in range(2)]
    assert done.outputs == said  # and no warning; each listens on loopback only
    assert done.codes == [0, 0] and done.ok and done.first_failure is None and done.exit_code == 0
    assert not done.apart and done.seconds > 0


def test_a_program_is_main_with_its_folder_on_the_path_and_multiprocessing_with_spawn_works(here: Path):
    (here / "sub").mkdir()
    (here / "sub" / "helper.py").write_text("value = 42")
    (here / "sub" / "p.py").write_text(
        "import helper, sys, __main__\nimport multiprocessing as mp\ndef double(x): return 2 * x\n"
        "if __name__ == '__main__':\n"
        "    assert __main__.helper is helper\n"
        "    print(helper.value, __file__, sys.argv, sys.stdin.read() == '')\n"
        "    with mp.get_context('spawn').Pool(1) as pool: print(pool.map(double, [1, 2]))\n"
    )
    path = os.path.join("sub", "p.py")
    assert cluster.run(path, "a", processes=1).outputs == [f"42 {os.path.abspath(path)} {[path, 'a']} True\n[2, 4]\n"]


def test_a_module_runs_by_name_and_a_program_is_found_beside_the_running_script(here: Path, monkeypatch):
    (here / "pack").mkdir()
    (here / "pack" / "__init__.py").touch()
    (here / "pack" / "mod.py").write_text("import sys; print(__name__, __package__, sys.argv[1:])")
    assert cluster.run("pack.mod", "1", processes=1, module=True).outputs == ["__main__ pack ['1']\n"]
    monkeypatch.setattr(sys.modules["__main__"], "__file__", str(here / "pack" / "demo.py"), raising=False)
    assert cluster.run("mod.py", processes=1).outputs == ["__main__ None []\n"]


def test_children_get_the_devices_the_environment_and_the_collective_timeout(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_a=1")
    names = ["JAX_PLATFORMS", "JAX_NUM_CPU_DEVICES", "XLA_FLAGS", "MINIPOD_PROCESSES", "MINIPOD_PROCESS", "MORE"]
    show = f"import os; print([os.environ.get(n) for n in {names}])"
    each = [{"MORE": "x"}, {"MORE": "y", "MINIPOD_PROCESS": "7"}]  # each may have one of its own, which is not all ours
    done = run(show, processes=2, devices=3, collective_timeout=7, env=each)
    flags = "--xla_a=1 --xla_cpu_collective_timeout_seconds=7"
    assert done.outputs == [f"{['cpu', '3', flags, '2', str(i), more]}\n" for i, more in enumerate("xy")]
    with pytest.raises(ValueError, match="env must have one mapping for each process"):
        cluster.run("p.py", env=[{}] * 3)
    with pytest.raises(ValueError, match="at least 1 second"):
        cluster.run("p.py", collective_timeout=0)


def test_a_taken_port_is_refused_and_a_free_one_used():
    program = "import os; print(os.environ['MINIPOD_COORDINATOR'])"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ValueError, match=f"port {port} cannot be used \\("):
            run(program, port=port)
    assert run(program, port=port).outputs == [f"127.0.0.1:{port}\n"]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only Linux lists a process's open files")
def test_a_process_that_cannot_be_started_leaves_no_pipe_open():
    before = os.listdir("/proc/self/fd")
    with selectors.DefaultSelector() as channels, pytest.raises(FileNotFoundError):
        start(0, ["prog.py"], dict(os.environ), channels, None, place=["/no/such/program"])
    assert os.listdir("/proc/self/fd") == before


def test_process_0_gets_the_loopback_address_and_process_1_waits_until_it_listens(monkeypatch):
    monkeypatch.delenv("MINIPOD_COORDINATOR", raising=False)
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    assert cluster.launch_arguments() == {}  # elsewhere there are none
    with socket.socket() as coordinator:
        coordinator.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{coordinator.getsockname()[1]}"
        for name, value in (("COORDINATOR", address), ("PROCESSES", "2"), ("PROCESS", "0"), ("LIMIT", "1")):
            monkeypatch.setenv(f"MINIPOD_{name}", value)
        assert cluster.launch_arguments() == {
            "coordinator_address": address,
            "num_processes": 2,
            "process_id": 0,
            "coordinator_bind_address": address,
            "initialization_timeout": 1,
            "heartbeat_timeout_seconds": 10,
            "shutdown_timeout_seconds": 1,
        }
        monkeypatch.setenv("MINIPOD_PROCESS", "1")
        with pytest.raises(TimeoutError, match="process 0 did not start the coordinator .* within 1 s"):
            cluster.launch_arguments()
        monkeypatch.setenv("MINIPOD_LIMIT", "300")
        threading.Timer(0.4, coordinator.listen).start()
        assert cluster.launch_arguments()["process_id"] == 1


def test_as_html_each_process_has_a_section_and_as_text_each_line_begins_with_its_process():
    page = Run(["<script>alert(1)</script> & co\n", "b\n"], [0, 1], 1.0, "process 1 waits in `<b>`")._repr_html_()
    assert page.count("<section") == 2 and "process 0</p>" in page and "process 1</p>" in page
    assert "<script" not in page and "&lt;script&gt;alert(1)&lt;/script&gt; &amp; co" in page
    assert "process 1 waits in <code>&lt;b&gt;</code></p>" in page and 'class="minipod processes"' in page
    done = Run(["a\nb\n", "c\n"], [0, 1], 1.0, "process 1 ended with exit status 1")
    assert str(done) == repr(done) == "[0] a\n[0] b\n[1] c\nprocess 1 ended with exit status 1"


@pytest.mark.parametrize(
    ("native", "left"),
    [
        ([GLOO.format(0) + GLOO.format(1), "", "a"], ["a"]),  # two threads, one line, the line ends later
        (["[Gloo] Rank [Gloo] Rank 45 is connected to  is connected to 7 peer ranks. 7", "7", ""], []),
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


def test_a_traceback_shows_the_programs_own_lines_and_all_of_them_on_demand():
    program = "import json\ndef f():\n    json.loads('{')\nf()\n"
    short = run(program, check=False).outputs[0]
    assert short.startswith(
        'Traceback (most recent call last):\n  File "p.py", line 4, in <module>\n    f()\n'
        "  File \"p.py\", line 3, in f\n    json.loads('{')\njson.decoder.JSONDecodeError: "
    )
    assert "decoder.py" not in short
    assert "decoder.py" in run(program, check=False, env={"JAX_TRACEBACK_FILTERING": "off"}).outputs[0]


def test_the_machine_has_room_for_so_many_processes_and_no_more(here: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tempfile, "tempdir", str(here))  # places of our own
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr(launch, "MACHINE", 2)
    monkeypatch.setattr(launch, "slots", partial(processes.slots, seconds=0.5))
    up = threading.Event()
    waits = "import pathlib, time\nprint('up')\nwhile not pathlib.Path('go').exists(): time.sleep(0.01)\n"
    with ThreadPoolExecutor() as pool:
        first = pool.submit(run, waits, show=lambda *_: up.set())
        assert up.wait(300)
        with pytest.raises(TimeoutError, match="^2 processes: minipod already runs 1 of at most 2; wait"):
            cluster.run("p.py", processes=2)
        (here / "go").touch()
        assert first.result().ok
    assert run("print('done')", processes=2).outputs == ["done\n"] * 2  # the places are free again


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


def test_programs_that_have_finished_well_did_so_even_if_their_exit_hangs(monkeypatch):
    monkeypatch.setattr(launch, "LEFT", 0.5)
    done = run("import atexit, time\natexit.register(time.sleep, 1000)\nprint('done')", processes=2, limit=300)
    assert done.outputs == ["done\n"] * 2 and done.codes == [0, 0] and done.ok
