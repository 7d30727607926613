"""`minipod doctor --cluster`: faults planted in one process of two are named, by process 0 alone, and all end."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import psutil
import pytest

from minipod import cluster
from minipod.doctor import Finding, installed
from minipod.doctor.findings import all_well
from minipod.doctor.gathered import Gathered, findings
from minipod.processes import environment, free_port


def doctors(*options: str, **planted: str | None) -> tuple[cluster.Run, dict[str, dict[str, str]]]:
    """Two doctors under our own launcher, the second with `planted` in its environment; process 0's findings by key."""
    usual = dict.fromkeys(environment.bending())
    env: list[Mapping[str, str | None]] = [usual, usual | planted]
    options = ("doctor", "--cluster", "--json", *options)
    run = cluster.run("minipod", *options, module=True, devices=2, env=env, check=False, limit=90, survivors=True)
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


@pytest.mark.long
def test_planted_another_jax(tmp_path: Path):
    (tmp_path / "jax-0.9.9.dist-info").mkdir()
    (tmp_path / "jax-0.9.9.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: jax\nVersion: 0.9.9\n")
    run, found = doctors(PYTHONPATH=str(tmp_path))
    assert named(found["jax"]) and "0.9.9 in process 1" in found["jax"]["value"]
    assert run.codes == [1, 1]


@pytest.mark.long
def test_planted_another_python_behind_a_clock_that_is_wrong(tmp_path: Path):
    code = "import platform, time\nplatform.python_version = lambda: '3.99.0'\n"
    code += "right = time.time\ntime.time = lambda: right() + 120\n"
    _, found = doctors(PYTHONPATH=custom(tmp_path, code))
    assert named(found["python"]) and "3.99.0 in process 1" in found["python"]["value"]
    assert named(found["clocks"], "note") and "120.0 s ahead of process 0's" in found["clocks"]["value"]


def test_planted_other_flags_a_proxy_and_other_devices(tmp_path: Path):
    """All three at once; a doctor that goes through the proxy would hang, so JAX's part fails, and is told, too."""
    code = "import os\nos.environ['JAX_NUM_CPU_DEVICES'] = '5'\n"
    code += "for name in ('no_proxy', 'NO_PROXY'): os.environ.pop(name, None)\n"
    flags = "--xla_cpu_enable_fast_math=true"
    planted = {"XLA_FLAGS": flags, "PYTHONPATH": custom(tmp_path, code), "http_proxy": "http://127.0.0.1:9"}
    _, found = doctors("--limit=6", **planted)
    assert named(found["xla_flags"]) and "none in process 0 (" in found["xla_flags"]["value"]
    assert named(found["proxy"]) and "no_proxy=127.0.0.1" in found["proxy"]["advice"]
    assert named(found["jax_num_cpu_devices"]) and found["computing"]["state"] == "fault"


@pytest.mark.long
def test_planted_other_numbers_of_devices():
    code = "import os, sys; os.environ['JAX_NUM_CPU_DEVICES'] = str(3 + 2 * int(os.environ['MINIPOD_PROCESS'])); "
    code += (
        "sys.argv = ['minipod', 'doctor', '--cluster', '--json']; from minipod.__main__ import main; sys.exit(main())"
    )
    Path("three_and_five.py").write_text(code)
    env = dict.fromkeys(environment.bending())
    run = cluster.run("three_and_five.py", check=False, env=env, limit=90)
    found = {row["key"]: row for row in json.loads(run.outputs[0])["findings"]}
    assert named(found["devices"], "note") and found["devices"]["value"].startswith("3 in process 0")
    assert "5 in process 1" in found["devices"]["value"] and found["hop"]["state"] == "well"


EIGHT_GPUS = """
import sys
if "minipod" in " ".join(sys.orig_argv):
    import socket
    socket.gethostname = lambda: "node7"
    socket.gethostbyname = lambda name: "127.0.1.1"
    from minipod.doctor import accelerators
    accelerators.hardware = lambda root=None: accelerators.Hardware(8, 0, 8, ())
"""


def test_what_the_doctor_of_one_machine_says_is_said_of_each_process(tmp_path: Path):
    """Eight GPUs that nobody uses, a name that leads nowhere, other devices asked for: all of it in process 1 only."""
    path = f"{custom(tmp_path, EIGHT_GPUS)}:{os.environ['PYTHONPATH']}"
    _, found = doctors(PYTHONPATH=path, CUDA_VISIBLE_DEVICES="1", LD_LIBRARY_PATH="/opt/other-nccl")
    unused = found["accelerators"]
    assert named(unused, "note") and unused["value"].startswith("8 NVIDIA GPUs in this machine; JAX sees none of them")
    assert unused["advice"]
    assert (
        named(found["host_name"], "note")
        and "127.0.1.1, which only this machine reaches" in found["host_name"]["value"]
    )
    assert "let /etc/hosts give the name its address" in found["host_name"]["advice"]
    assert named(found["cuda_visible_devices"], "note") and named(found["ld_library_path"])


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[3]))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[3]))


def test_planted_a_process_that_ends_before_it_comes(tmp_path: Path):
    code = "import os, sys\nif 'minipod.doctor.member' in sys.orig_argv: os._exit(7)\n"
    run, found = doctors("--limit=8", PYTHONPATH=custom(tmp_path, code))
    assert found["processes"]["state"] == "fault" and found["processes"]["advice"].startswith("process 1 did not come")
    assert "JAX does not start: exit code 7" in run.outputs[1]  # it says so itself
    assert run.exit_code


def test_planted_a_process_whose_jax_fails_on_the_way(tmp_path: Path):
    code = "import os, sys\nif 'minipod.doctor.member' in sys.orig_argv:\n import minipod.doctor.member as m\n"
    code += " def gone(*_): raise RuntimeError('no such network')\n m.gloo.listen_on = gone\n"
    _, found = doctors(PYTHONPATH=f"{custom(tmp_path, code)}:{os.environ['PYTHONPATH']}")
    row = found["computing"]
    assert named(row) and "process 1 (" in row["value"] and "no such network" in row["value"]


def launched(limit: int, *commands: list[str]) -> list[subprocess.Popen[str]]:
    """Doctors as a launcher would start them, each with a command in front of it."""
    env = environment.clean(JAX_PLATFORMS="cpu", MINIPOD_COORDINATOR=f"127.0.0.1:{free_port()}")
    env |= {"MINIPOD_PROCESSES": str(len(commands)), "MINIPOD_LIMIT": "150"}
    doctor = [sys.executable, "-m", "minipod", "doctor", "--cluster", "--json", f"--limit={limit}"]
    return [
        subprocess.Popen([*command, *doctor], env=env | {"MINIPOD_PROCESS": str(n)}, stdout=subprocess.PIPE, text=True)
        for n, command in enumerate(commands)
    ]


def part_of(doctor: subprocess.Popen[str]) -> psutil.Process:
    """The process of JAX's part, as soon as it is there."""
    for _ in range(600):
        if below := psutil.Process(doctor.pid).children():
            return below[0]
        time.sleep(0.05)
    raise AssertionError("it never started its part")


@pytest.mark.long
def test_planted_a_process_that_is_stopped():
    first, second = launched(12, [], [])
    part = part_of(second)
    while not part.children() and len(part.threads()) < 4 and second.poll() is None:  # JAX has been imported
        time.sleep(0.05)
    time.sleep(0.3)
    part.suspend()
    said = first.communicate(timeout=600)[0]
    second.communicate(timeout=600)
    found = {row["key"]: row for row in json.loads(said)["findings"]}
    where = found.get("computing") or found["processes"]
    assert where["state"] == "fault" and "process 1" in where["value"] + where["advice"]
    assert first.returncode == 1 and second.returncode != 0
    assert not part.is_running() or part.status() == psutil.STATUS_ZOMBIE


def test_planted_a_process_that_is_slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """It sleeps in each product: 0.4 s a round, whatever else this machine does."""
    code = "import os, sys\nif 'minipod.doctor.member' in sys.orig_argv and os.environ['MINIPOD_PROCESS'] == '1':\n"
    code += " import jax, time\n jit = jax.jit\n def slept(f, *rest, **more):\n  run = jit(f, *rest, **more)\n"
    code += "  slow = f is jax.numpy.matmul\n  return (lambda *a: (time.sleep(0.05), run(*a))[1]) if slow else run\n"
    code += " jax.jit = slept\n"
    monkeypatch.setenv("PYTHONPATH", f"{custom(tmp_path, code)}:{os.environ['PYTHONPATH']}")
    first, second = launched(50, [], [])
    said = first.communicate(timeout=600)[0]
    second.communicate(timeout=600)
    assert second.returncode == first.returncode == 0
    slowest = {row["key"]: row for row in json.loads(said)["findings"]}["slowest"]
    assert named(slowest, "note") and "process 1 (" in slowest["value"], slowest


def test_planted_another_job_on_the_coordinators_port():
    import socket

    with socket.create_server(("127.0.0.1", 0)) as other:
        env = environment.clean(MINIPOD_COORDINATOR=f"127.0.0.1:{other.getsockname()[1]}", MINIPOD_PROCESSES="2")
        env |= {"MINIPOD_PROCESS": "0", "MINIPOD_LIMIT": "60"}
        command = [sys.executable, "-m", "minipod", "doctor", "--cluster"]
        done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 1 and "process 0 cannot listen there" in done.stdout
    assert "another job's coordinator?" in done.stdout


@pytest.mark.parametrize("number", ["1", "0"])
def test_without_the_other_process_it_ends_within_the_limit(number: str):
    address = f"127.0.0.1:{free_port()}"  # both may be tried at once, and must not meet
    env = environment.clean(MINIPOD_COORDINATOR=address, MINIPOD_PROCESSES="2", MINIPOD_LIMIT="60")
    command = [sys.executable, "-m", "minipod", "doctor", "--cluster", "--limit=2"]
    done = subprocess.run(command, env=env | {"MINIPOD_PROCESS": number}, capture_output=True, text=True, timeout=600)
    alone = f"minipod: process 1: process 0 could not be reached at {address} within 2 s (Connection refused)\n"
    if number == "1":
        assert (done.returncode, done.stdout, done.stderr) == (1, "", alone)
    else:
        assert done.returncode == 1 and "process 1 did not come within 2 s" in done.stdout


@pytest.mark.parametrize(
    ("env", "options", "sentence"),
    [
        ({}, [], "minipod: --cluster: this process is in no cluster; start it by a launcher: `srun minipod"),
        ({}, ["--limit=0"], "minipod: limit 0: a positive number of seconds is needed"),
        ({"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0"}, [], "minipod: --cluster: an MPI that JAX's"),
        (
            {
                "OMPI_COMM_WORLD_SIZE": "2",
                "OMPI_COMM_WORLD_RANK": "0",
                "SLURM_STEP_NUM_TASKS": "4",
                "SLURM_PROCID": "1",
            },
            [],
            "minipod: --cluster: two launchers have started this process, Open MPI (process 0 of 2), Slurm (process 1",
        ),
        ({"SLURM_JOB_ID": "7", "SLURM_PROCID": "0"}, [], "minipod: --cluster: inside a Slurm job, but in none of"),
        (
            {"MINIPOD_COORDINATOR": "127.0.0.1:1", "MINIPOD_PROCESSES": "1", "MINIPOD_PROCESS": "0"},
            [],
            "minipod: --cluster: minipod run has started one process: there is nothing to compare",
        ),
    ],
)
def test_where_there_is_no_cluster_one_sentence_says_so(env: dict[str, str], options: list[str], sentence: str):
    command = [sys.executable, "-m", "minipod", "doctor", "--cluster", *options]
    done = subprocess.run(command, env=environment.clean(**env), capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith(sentence) and done.stderr.count("\n") == 1, done.stderr


def test_of_many_processes_the_odd_ones_are_named():
    all_of = Gathered(8, "Slurm", "a0:1")
    for p in range(8):
        versions = {"Python": "3.12.1", "jax": "0.10.2" if p not in (2, 3, 4, 7) else "0.11.0"}
        device = {"count": 8, "platform": "gpu", "kind": "A100" if p else "H100", "here": 1}
        common = {"settings": {}, "proxy": "", "python": "/p", "machine": "x86_64"}
        all_of.facts[p] = {"host": f"a{p // 4}", "versions": versions, **common}
        all_of.steps[p] = {"devices": device, "hop": {"latency": 1e-4, "bandwidth": 2e9, "large": 4 << 20}}
        all_of.steps[p]["pace"] = {"own": 1.0 if p == 5 else 0.25, "wait": 0.1}
    found = {f.name: f for f in findings(all_of)}
    assert found["jax"].value == "0.10.2 in processes 0, 1, 5, 6 (a0, a1), 0.11.0 in processes 2–4, 7 (a0, a1)"
    assert found["Devices"].value == "gpu · A100 in processes 1–7 (a0, a1), gpu · H100 in process 0 (a0)"
    assert found["Slowest"].value == "process 5 (a1): 1.0 s for what takes the others 250 ms (medians)"
    assert found["Slowest"].advice and not all_well([found["jax"]])
    assert found["Hop"] == Finding(
        "Hop", "an all-reduce of 4 bytes takes 0.1 ms; in one of 4 MiB each sends 2.00 GB/s (medians)"
    )


def test_the_driver_is_a_version_that_is_compared(tmp_path: Path):
    told = tmp_path / "version"
    told.write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Tue Jan 21\nGCC version: 12\n")
    assert installed.nvidia_driver(told) == "570.86.15"
    told.write_text(
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (dvs-builder)\n"
    )
    assert installed.nvidia_driver(told) == "580.159.04"
    assert installed.nvidia_driver(tmp_path / "none") == ""
