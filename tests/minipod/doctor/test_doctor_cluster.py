"""`minipod doctor --cluster`: faults planted in one process of two are named, by process 0 alone, and all end."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from unittest import mock

import psutil
import pytest
from still_running import until

from minipod import cluster
from minipod.__main__ import main
from minipod.doctor import Finding, connections, installed
from minipod.doctor import cluster as doctor
from minipod.doctor.findings import all_well
from minipod.doctor.gathered import Clock, Gathered, findings
from minipod.processes import environment, free_port, json_lines


def doctors(*limits: int, **planted: str | None) -> tuple[cluster.Run, dict[str, dict[str, str]]]:
    """Two doctors under our own launcher, the second with `planted` in its environment; process 0's findings by key.

    limits: seconds that the doctors wait, the least in which JAX starts; by default as long as they do by themselves
    """
    usual = dict.fromkeys(environment.bending())
    env: list[Mapping[str, str | None]] = [usual, usual | planted]
    for options in [[f"--limit={limit}"] for limit in limits] or [[]]:
        command = ("minipod", "doctor", "--cluster", "--json", *options)
        run = cluster.run(*command, module=True, devices=2, env=env, check=False, limit=600, survivors=True)
        if "JAX did not start within" not in "".join(run.outputs):
            break
    found = json.loads(run.outputs[0])["findings"] if run.outputs[0].startswith("{") else []
    return run, {row["key"]: row for row in found}


def custom(folder: Path, code: str) -> str:
    """A folder whose code runs in every Python that has it on its path, before the program."""
    (folder / "sitecustomize.py").write_text(code)
    return str(folder)


def named(row: Mapping[str, str], state: str = "fault") -> bool:
    """Whether the line is in this state and tells process 1 from process 0."""
    return row["state"] == state and "process 1 (" in row["value"] + row["advice"]


def test_two_that_are_alike_are_well_and_one_reports():
    run, found = doctors()
    assert run.exit_code == 0 and run.outputs[1] == "" and not run.first_failure
    assert {row["state"] for key, row in found.items() if key != "slowest"} == {"well"}
    assert "2 cpu · cpu in each, 4 in all" in found["devices"]["value"]
    said = json.loads(run.outputs[0])
    assert [row["came"] for row in said["processes"]] == [True, True]
    assert 0 < said["processes"][1]["hop"]["latency"] < 10 < said["processes"][1]["hop"]["bandwidth"]
    assert found["hop"]["value"].startswith("an all-reduce of 4 bytes takes ")


def test_planted_other_flags_a_proxy_and_other_devices(tmp_path: Path):
    """All three at once; a doctor that goes through the proxy would hang, so JAX's part fails, and is told, too."""
    code = "import os\nos.environ['JAX_NUM_CPU_DEVICES'] = '5'\n"
    code += "for name in ('no_proxy', 'NO_PROXY'): os.environ.pop(name, None)\n"
    flags = "--xla_cpu_enable_fast_math=true"
    planted = {"XLA_FLAGS": flags, "PYTHONPATH": custom(tmp_path, code), "http_proxy": "http://127.0.0.1:9"}
    _, found = doctors(8, 30, 120, **planted)
    assert named(found["xla_flags"]) and "none in process 0 (" in found["xla_flags"]["value"]
    assert named(found["proxy"]) and "no_proxy=$no_proxy,127.0.0.1" in found["proxy"]["advice"]
    assert named(found["jax_num_cpu_devices"]) and found["computing"]["state"] == "fault"


# Eight GPUs that nobody uses, a name that leads others nowhere, and 0.1 s of sleep in each product: 0.8 s a round,
# whatever else this machine does.
ODD = """
import sys
if "minipod" in " ".join(sys.orig_argv):
    import socket
    socket.gethostname = lambda: "127.0.1.1"
    from minipod.doctor import accelerators
    accelerators.hardware = lambda root=None: accelerators.Hardware(8, 0, 8, ())
if "minipod.doctor.cluster_probe" in sys.orig_argv:
    import jax, time
    jit = jax.jit
    jax.jit = lambda f, **more: (lambda *a: (time.sleep(0.1), f(*a))[1]) if f is jax.numpy.matmul else jit(f, **more)
"""


def test_planted_a_slow_process_and_what_the_doctor_of_one_machine_says_is_said_of_each_process(tmp_path: Path):
    path = f"{custom(tmp_path, ODD)}:{os.environ['PYTHONPATH']}"
    _, found = doctors(PYTHONPATH=path, CUDA_VISIBLE_DEVICES="1", LD_LIBRARY_PATH="/opt/other-nccl")
    unused, host = found["accelerators"], found["host_name"]
    assert named(unused, "note") and unused["value"].startswith("8 NVIDIA GPUs in this machine; JAX runs on")
    assert unused["advice"].startswith("`minipod run` simulates CPU devices")
    assert named(host, "note") and "127.0.1.1, reachable only from this machine" in host["value"]
    assert "give this name its network address in /etc/hosts" in host["advice"]
    assert named(found["cuda_visible_devices"], "note") and named(found["ld_library_path"])
    assert named(found["slowest"], "note") and "process 1 (" in found["slowest"]["value"], found["slowest"]


def test_a_stranger_on_the_port_is_no_process_of_the_cluster():
    word = {"word": connections.WORD, "facts": {"host": "node7"}}
    greetings = {"process": 1}, word | {"process": 1, "facts": {}}, word | {"process": 2}, word | {"process": 1}
    with contextlib.ExitStack() as sockets:
        listener = sockets.enter_context(connections.listen("127.0.0.1:0", False))
        for greeting in greetings:
            visitor = sockets.enter_context(socket.create_connection(listener.getsockname()))
            visitor.sendall(json_lines.encode(greeting))
        come = connections.welcome(listener, 2, 300.0, {"host"})
        assert [sockets.enter_context(line.socket) and line.facts for line in come.values()] == [{"host": "node7"}]


def test_stopped_processes_are_named_before_one_whose_jax_ended_and_that_one_before_those_that_are_slow():
    ended = {"joined": 1, "ended": "no such network", "stopped": False}
    slow = {"joined": 1, "devices": 1, "stopped": False, "words": ""}

    def failures(*steps: dict) -> dict[int, str]:
        part = mock.Mock(stopped=lambda: steps[0]["stopped"], last_line=lambda: "")
        return doctor._failures(part, Gathered(2, "Slurm", "here:1", steps=dict(enumerate(steps)), limit=9.0), {})

    assert failures(slow | {"stopped": "suspended (SIGSTOP)"}, ended) == {0: "is suspended (SIGSTOP)"}
    assert failures(slow, ended) == {1: "ended while finding its devices: no such network"}
    assert failures(slow, slow) == dict.fromkeys((0, 1), "was still making its first sums after 9 s")
    assert failures(slow, slow | {"hop": 1, "pace": 1}).keys() == {0}
    assert failures(slow, slow | {"lost": "no route"}) == {1: "was lost while making its first sums: no route"}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[3]))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[3]))


def test_planted_a_process_that_ends_before_it_comes(tmp_path: Path):
    ends = "import os, sys\nif 'minipod.doctor.cluster_probe' in sys.orig_argv: os._exit(7)\n"
    run, found = doctors(8, 30, 120, PYTHONPATH=custom(tmp_path, ends))
    assert found["processes"]["state"] == "fault" and run.exit_code
    assert found["processes"]["advice"].startswith("process 1 did not connect to 127.0.0.1:")
    assert "JAX does not start: exit code 7" in run.outputs[1]  # it says so itself


@pytest.mark.long
def test_planted_a_process_that_is_stopped():
    env = environment.clean(JAX_PLATFORMS="cpu", MINIPOD_COORDINATOR=f"127.0.0.1:{free_port()}", MINIPOD_PROCESSES="2")
    doctor = [sys.executable, "-m", "minipod", "doctor", "--cluster", "--json", "--limit=30"]
    how = {"stdout": subprocess.PIPE, "text": True}
    first, second = (subprocess.Popen(doctor, env=env | {"MINIPOD_PROCESS": i}, **how) for i in "01")
    assert until(lambda: psutil.Process(second.pid).children())
    (part,) = psutil.Process(second.pid).children()  # JAX's
    assert until(lambda: part.children() or len(part.threads()) >= 4 or second.poll() is not None)  # it is imported
    time.sleep(0.3)
    part.suspend()
    said = first.communicate(timeout=600)[0]
    second.communicate(timeout=600)
    found = {row["key"]: row for row in json.loads(said)["findings"]}
    where = found.get("computing") or found["processes"]
    assert where["state"] == "fault" and "process 1" in where["value"] + where["advice"]
    assert first.returncode == 1 and second.returncode != 0
    assert not part.is_running() or part.status() == psutil.STATUS_ZOMBIE


def in_process(process: str, address: str) -> tuple[subprocess.CompletedProcess[str], int]:
    """The doctor of one process of two, of which the other is absent, and a limit within which its JAX could start."""
    at = {"MINIPOD_COORDINATOR": address, "MINIPOD_PROCESSES": "2", "MINIPOD_PROCESS": process, "MINIPOD_LIMIT": "300"}
    for limit in (2, 10, 50, 250):
        command = [sys.executable, "-m", "minipod", "doctor", "--cluster", f"--limit={limit}"]
        done = subprocess.run(command, env=environment.clean(**at), capture_output=True, text=True, timeout=600)
        if "JAX did not start" not in done.stderr:
            break
    return done, limit


def test_without_the_other_process_it_ends_within_the_limit_and_another_job_on_its_port_is_named():
    address = f"127.0.0.1:{free_port()}"
    done, limit = in_process("1", address)
    alone = f"minipod: process 1: process 0 could not be reached at {address} within {limit} s (Connection refused)\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", alone)
    done, limit = in_process("0", address)
    assert done.returncode == 1 and f"process 1 did not connect to {address} within {limit} s\n" in done.stdout
    with socket.create_server(("127.0.0.1", 0)) as other:
        done, _ = in_process("0", f"127.0.0.1:{other.getsockname()[1]}")
    assert done.returncode == 1 and "process 0 cannot listen there" in done.stdout
    assert "start `minipod run` with a different --port" in done.stdout


OPEN_MPI = {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0"}
ALONE = {"MINIPOD_COORDINATOR": "127.0.0.1:1", "MINIPOD_PROCESSES": "1", "MINIPOD_PROCESS": "0"}


@pytest.mark.parametrize(
    ("env", "limit", "sentence"),
    [
        ({}, 90, "JAX finds no cluster here: start `minipod doctor --cluster` with srun, mpirun or"),
        ({}, 0, "limit 0: a positive number of seconds is needed"),
        (
            OPEN_MPI | {"SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "1"},
            90,
            "two launchers disagree: Open MPI (process",
        ),
        (ALONE, 90, "minipod run reports only one process: start at least two"),
        (OPEN_MPI, 90, "JAX needs mpi4py to detect MPI here"),
    ],
)
def test_where_there_is_no_cluster_one_sentence_says_so(env, limit, sentence, capsys: pytest.CaptureFixture[str]):
    with mock.patch.dict(os.environ, environment.clean(**env), clear=True):
        assert main(["doctor", "--cluster", f"--limit={limit}"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("minipod: " + "--cluster: " * bool(limit) + sentence) and said.count("\n") == 1


def test_of_many_processes_the_odd_ones_are_named():
    all_of = Gathered(8, "Slurm", "a0:1")
    for p in range(8):
        versions = {"Python": "3.12.1" if p != 6 else "3.99.0", "jax": "0.10.2" if p not in (2, 3, 4, 7) else "0.11.0"}
        device = {"count": 8, "platform": "gpu", "kind": "A100" if p else "H100", "here": 1}
        common = {"settings": {}, "proxy": "", "python": "/p", "machine": "x86_64"}
        all_of.facts[p] = {"host": f"a{p // 4}", "versions": versions, **common}
        all_of.steps[p] = {"devices": device, "hop": {"latency": 1e-4, "bandwidth": 2e9, "large": 4 << 20}}
        all_of.steps[p]["pace"] = {"own": 1.0 if p == 5 else 0.25, "wait": 0.1}
    all_of.clocks = {p: Clock(120.0 if p == 3 else 0.5, 0.1) for p in range(1, 8)}
    found = {f.name: f for f in findings(all_of)}
    assert found["Python"].value == "3.12.1 in processes 0–5, 7 (a0, a1), 3.99.0 in process 6 (a1)"
    assert found["Clocks"].value == "process 3 (a0) 120.0 s ahead of process 0's" and found["Clocks"].advice
    assert found["jax"].value == "0.10.2 in processes 0, 1, 5, 6 (a0, a1), 0.11.0 in processes 2–4, 7 (a0, a1)"
    assert found["Devices"].value == "gpu · A100 in processes 1–7 (a0, a1), gpu · H100 in process 0 (a0)"
    assert found["Slowest"].value == "process 5 (a1): 1.0 s; the others: 250 ms for the same work (medians)"
    assert found["Slowest"].advice and not all_well([found["jax"]])
    assert found["Hop"] == Finding(
        "Hop", "an all-reduce of 4 bytes takes 0.1 ms; in one of 4 MiB each process sends 2.00 GB/s (medians)"
    )


def test_the_driver_is_a_version_that_is_compared(tmp_path: Path):
    assert installed.nvidia_driver(tmp_path / "version") == ""
    for line, version in (
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Tue Jan 21\nGCC version: 12", "570.86.15"),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (dvs)", "580.159.04"),
    ):
        (tmp_path / "version").write_text(line)
        assert installed.nvidia_driver(tmp_path / "version") == version
