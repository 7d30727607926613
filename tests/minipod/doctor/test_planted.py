"""Faults planted one by one: the doctor names each, and says what mends it."""

import os
import shutil
import socket
import subprocess
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from unittest import mock

import pytest

from minipod.doctor import Finding, accelerators, launcher, machine
from minipod.doctor.accelerators import Hardware, hardware
from minipod.doctor.look import detect
from minipod.doctor.report import look
from minipod.doctor.settings import settings
from minipod.processes import environment, free_port

RANK_1 = {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_LOCAL_RANK": "1"}
MPI4 = {"OMPI_MCA_orte_hnp_uri": "1531576320.0;tcp://127.0.0.1:34911", **RANK_1, "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}
TASKS = {"SLURM_NTASKS": "4", "SLURM_STEP_NUM_TASKS": "4", "SLURM_STEP_TASKS_PER_NODE": "4"}
SLURM = {"SLURM_JOB_ID": "7", "SLURM_STEP_NODELIST": "localhost", "SLURM_PROCID": "3", "SLURM_LOCALID": "3", **TASKS}


def cluster(**env: str):
    """What JAX's own detector says in a process with these variables."""
    with mock.patch.dict(os.environ, environment.clean(JAX_PLATFORMS="cpu", **env), clear=True):
        with warnings.catch_warnings(action="ignore"):
            return detect()


def advice(**env: str) -> str:
    """What the doctor says of a process with these variables."""
    return launcher.launcher(cluster(**env), env=env).advice


def of(**more: object) -> dict[str, object]:
    """A cluster as the detector describes it."""
    usual = {"launcher": "Slurm", "coordinator": "127.0.0.1:1", "processes": 2, "process": 0, "local_devices": [0]}
    return {**usual, "variables": ["SLURM_PROCID"], **more}


def test_open_mpi_slurm_and_a_tpu_slice_on_gke_are_read_by_jax_itself():
    mpi, slurm = cluster(**MPI4), cluster(**SLURM)
    assert (mpi["launcher"], mpi["process"], mpi["processes"], mpi["local_devices"]) == ("Open MPI", 1, 2, [1])
    assert mpi["variables"] == ["OMPI_MCA_orte_hnp_uri", *RANK_1]
    assert (slurm["launcher"], slurm["process"], slurm["processes"]) == ("Slurm", 3, 4)
    assert slurm["coordinator"] == f"localhost:{65535 - 4096 + 1 + 7}"  # as JAX counts it from the job's number
    said = launcher.launcher(slurm, env=SLURM)
    begin = "Slurm: process 3 of 4, local device 3, coordinator localhost:61447; from SLURM_JOB_ID"
    assert said.value.startswith(begin) and not said.advice
    env = {"JAX_FORCE_TPU_INIT": "1", "TPU_WORKER_HOSTNAMES": "localhost,other", "TPU_WORKER_ID": "1"}
    # of several slices; for one JAX would ask Google's metadata server, which is not here
    env |= {"MEGASCALE_COORDINATOR_ADDRESS": "localhost", "MEGASCALE_NUM_SLICES": "2", "MEGASCALE_SLICE_ID": "1"}
    seen = look(environment.clean(JAX_PLATFORMS="cpu", **env), "no-simulation")[2]["cluster"]  # read as JAX is imported
    assert (seen["launcher"], seen["process"], seen["processes"]) == ("GKE (TPU)", 3, 4)
    assert seen["coordinator"] == "localhost:8482" and seen["local_devices"] is None


def test_planted_launchers_that_jax_does_not_know_two_at_once_and_none():
    batch_script = {"SLURM_JOB_ID": "7", "SLURM_NTASKS": "2", "SLURM_PROCID": "0", "SLURM_LOCALID": "0"}
    open_mpi_5 = {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0", "PMIX_RANK": "0"}
    assert cluster(**open_mpi_5) is None and 'cluster_detection_method="mpi4py"' in advice(**open_mpi_5)
    assert cluster(**batch_script) is None and "start the program with `srun`" in advice(**batch_script)
    step = {name: SLURM[name] for name in SLURM if name != "SLURM_NTASKS"}
    assert cluster(**step) is None and advice(**step).endswith("without SLURM_NTASKS")
    said = advice(**MPI4, **SLURM)
    assert said.startswith("two launchers disagree: Open MPI (process 1 of 2), Slurm (process 3 of 4); start")
    assert "num_processes and process_id" in advice(JAX_COORDINATOR_ADDRESS="127.0.0.1:1234")
    assert "JAX does not read WORLD_SIZE=4: " in advice(WORLD_SIZE="4", RANK="1")
    assert not launcher.launcher(None, env={"WORLD_SIZE": "1", "RANK": "0"}).advice
    if find_spec("kubernetes") is None:
        assert "`pip install 'jax[k8s]'`" in advice(KUBERNETES_SERVICE_HOST="10.0.0.1")
    one_task = {"SLURM_STEP_TASKS_PER_NODE": "1(x2)"}
    assert launcher.launcher(of(), gpus=8, env=one_task).advice.startswith("7 of 8 GPUs would be idle")
    assert not launcher.launcher(of(), gpus=8, env={"SLURM_STEP_TASKS_PER_NODE": "8(x2)"}).advice
    assert not launcher.launcher(of(local_devices=None), gpus=8, env=one_task).advice
    assert not launcher.launcher(of(), gpus=8, env=one_task | {"CUDA_VISIBLE_DEVICES": "0"}).advice  # what Slurm gave


def test_planted_another_job_on_the_coordinators_port_no_address_another_host_s_and_a_proxy_in_its_way(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        said = launcher.coordinator(of(coordinator=address), {})
        assert said.state == "fault" and "set JAX_COORDINATOR_PORT to another" in said.advice
        assert launcher.coordinator(of(coordinator=address, process=1), {}).value.endswith(" listens on the port")
    assert launcher.coordinator(of(coordinator=address), {}).value.endswith(", free")
    assert launcher.coordinator(of(coordinator=address, process=1), {}).value.endswith("listens on the port yet")
    said = launcher.coordinator(of(coordinator="no-such-host.invalid:1234"), {})
    assert said.state == "fault" and said.advice.startswith("this host cannot resolve no-such-host.invalid (")
    said = launcher.coordinator(of(coordinator="198.51.100.1:23456"), {})  # an address for documents, nobody's
    assert said.state == "fault" and "set JAX_COORDINATOR_ADDRESS to" in said.advice
    for wrong in ("", "host0", "host0:0", "host0:99999"):
        assert "give a host and a port" in launcher.coordinator(None, {"JAX_COORDINATOR_ADDRESS": wrong}).advice
    monkeypatch.setattr(launcher, "_as_other", lambda address, place: Finding("elsewhere", address))
    assert launcher.coordinator(None, {"JAX_COORDINATOR_ADDRESS": "198.51.100.1:23456"}).name == "elsewhere"
    proxy, here = {"https_proxy": "http://127.0.0.1:9"}, of(coordinator=f"127.0.0.1:{free_port()}")
    said = launcher.coordinator(here, proxy)
    assert said.state == "fault" and "`export no_proxy=$no_proxy,127.0.0.1`" in said.advice
    assert not launcher.coordinator(here, proxy | {"no_proxy": "x.org, 127.0.0.1"}).advice


def test_planted_settings_that_nobody_reads_or_that_contradict():
    said = settings({"JAX_NUM_CPU_DEVICE": "4", "JAX_PLATFORMS": "cpu", "JAX_COORDINATOR_PORT": "1"})
    assert said.advice == "JAX does not read JAX_NUM_CPU_DEVICE: did you mean JAX_NUM_CPU_DEVICES?"
    both = {"JAX_NUM_CPU_DEVICES": "4", "XLA_FLAGS": "--a=1 --xla_force_host_platform_device_count=8 --b=2"}
    assert settings(both).advice.startswith("JAX_NUM_CPU_DEVICES=4 overrides --xla_force_host_platform_device_count=8")
    seen = look(environment.clean(**both | {"XLA_FLAGS": both["XLA_FLAGS"][6:-6]}), "no-simulation")[2]
    assert seen["devices"]["count"] == 4  # and so JAX does


def test_planted_a_clock_behind_its_files_and_a_container_with_too_little_memory(tmp_path: Path):
    (tmp_path / "new").touch()
    os.utime(tmp_path / "new", (4e9, 4e9))
    assert machine.clock(tmp_path / "new").advice.startswith("the clock is behind a file written on 2096")
    assert not machine.clock().advice
    (tmp_path / "proc/self").mkdir(parents=True)
    mounts = "cgroup2 /sys/fs/cgroup cgroup2 ro 0 0\ncgroup /sys/fs/cgroup/memory cgroup ro,memory 0 0\n"
    (tmp_path / "proc/self/mounts").write_text(mounts)
    groups = {"0::/job_7/step_0": "job_7/memory.max", "9:cpu,memory:/job_7": "memory/memory.limit_in_bytes"}
    for line, file in groups.items():  # as Slurm lays them: the limit is a group's above ours
        (tmp_path / "proc/self/cgroup").write_text(f"1:cpu:/\n{line}\n")
        limit = tmp_path / "sys/fs/cgroup" / file
        limit.parent.mkdir(parents=True)
        for text, state in ("1073741824\n", "note"), ("max\n", "well"):
            limit.write_text(text)
            memory = machine.memory(tmp_path)
            assert memory.state == state and memory.value.startswith("1.0 GiB of ") == (state == "note")


def test_planted_too_few_open_files_and_a_name_that_means_this_machine_only(monkeypatch: pytest.MonkeyPatch):
    code = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40)); from minipod.doctor import machine; "
    done = subprocess.run([sys.executable, "-c", code + "print(machine.open_files().advice)"], capture_output=True)
    assert b"ulimit -n 1024" in done.stdout
    monkeypatch.setattr(machine.socket, "getaddrinfo", lambda *_, **__: [(0, 0, 0, "", ("127.0.1.1", 0))])
    assert machine.host_name(in_cluster=True).state == "note" and machine.host_name().state == "well"
    monkeypatch.setattr(machine.socket, "getaddrinfo", mock.Mock(side_effect=OSError))
    monkeypatch.setattr(machine.socket, "gethostname", lambda: "moon")
    assert machine.host_name().value.startswith("moon, which has no address") and not machine.host_name().advice


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine's folders with a GPU, and two things on the PCI bus that are none: Intel's graphics, a GPU's sound."""
    for folder in ("dev/vfio", "tmp"):
        (tmp_path / folder).mkdir(parents=True)
    for slot, (vendor, kind) in enumerate((("0x8086", "0x030000"), ("0x10de", "0x040300"), ("0x10de", "0x030200"))):
        (device := tmp_path / f"sys/bus/pci/devices/{slot}").mkdir(parents=True)
        (device / "vendor").write_text(vendor + "\n")
        (device / "class").write_text(kind + "\n")
    return tmp_path


def test_planted_a_gpu_without_its_driver_its_plugin_or_hidden(root: Path, monkeypatch: pytest.MonkeyPatch):
    def advice(**env: str) -> str:
        found = accelerators.accelerators("cpu", env, root)
        assert found and found.value == "1 NVIDIA GPU in this machine; JAX runs on the CPU"
        return found.advice

    monkeypatch.setattr(accelerators, "versions", lambda: {"jax": "0.10.2", "jaxlib": "0.10.2"})
    assert "load NVIDIA's driver" in advice()
    (root / "dev/nvidia0").touch()
    (root / "dev/nvidiactl").touch()
    assert 'pip install "jax[cuda13]"' in advice()
    assert advice(CUDA_VISIBLE_DEVICES="").startswith("CUDA_VISIBLE_DEVICES= hides all GPUs")
    assert advice(JAX_PLATFORMS="cpu") == "JAX_PLATFORMS=cpu makes JAX use the CPU: unset it"
    assert advice(JAX_PLATFORMS="cpu", MINIPOD_COORDINATOR="127.0.0.1:1").startswith("`minipod run` simulates CPU")
    monkeypatch.setattr(accelerators, "versions", lambda: {"jaxlib": "0.10.2", "NVIDIA driver": "570.86.15"})
    assert 'pip install "jax[cuda12]"' in advice()
    have = {"jaxlib": "0.10.2", "jax-cuda13-plugin": "0.10.1"}
    monkeypatch.setattr(accelerators, "versions", lambda: have)
    assert advice() == "jax-cuda13-plugin 0.10.1 does not match jaxlib 0.10.2: install the same version of both"
    used = accelerators.accelerators("gpu", {}, root)
    assert used and not used.advice


def test_planted_a_tpu_that_another_process_or_another_user_s_lock_holds(root: Path, monkeypatch: pytest.MonkeyPatch):
    shutil.rmtree(root / "sys/bus/pci/devices/2")  # the GPU
    (root / "dev/vfio/7").touch()  # somebody's virtual machine
    assert hardware(root) == Hardware() and accelerators.accelerators("cpu", {}, root) is None
    chip = root / "dev/accel0"
    chip.touch()
    free = accelerators.accelerators("cpu", {}, root)
    assert free and "jax[tpu]" in free.advice
    holds = f"import sys; held = open({str(chip)!r}); print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", holds], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout and other.stdout.readline() == b"held\n"
        said = accelerators.accelerators("cpu", {}, root)
        other.communicate()
    assert said and said.advice.startswith(f"process {other.pid} (python")
    (root / "tmp/libtpu_lockfile").touch()
    monkeypatch.setattr(accelerators.os, "access", lambda path, mode: False)  # root may read everything
    said = accelerators.accelerators("", {}, root)
    assert said and said.advice.endswith(f"`sudo rm {root}/tmp/libtpu_lockfile`")
