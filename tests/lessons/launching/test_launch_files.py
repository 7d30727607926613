"""The files that readers take along to a cluster, checked as far as goes without it."""

import copy
import json
import math
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import slurm
import yaml
from still_running import running_with, until

from lessons.ch14_launching.launchers import environment
from minipod.processes import free_port

LESSON = Path(__file__).resolve().parents[3] / "lessons/ch14_launching"
HELLO = LESSON.parent / "ch10_processes/hello.py"
SCHEMA = Path(__file__).resolve().parents[2] / "data/jobset.schema.json"
SBATCH = sorted(path.name for path in LESSON.glob("*.sbatch"))
SCRIPTS = sorted(path.name for path in (*LESSON.glob("*.sh"), *LESSON.glob("*.sbatch")))
FEW = ["--cpus-per-task=1"]  # our nodes have eight CPUs in all
WHY_NO_SLURM = slurm.why_not()
needs_slurm = pytest.mark.skipif(WHY_NO_SLURM is not None, reason=WHY_NO_SLURM or "")


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed: apt install shellcheck")
@pytest.mark.parametrize("script", SCRIPTS)
def test_shellcheck_has_nothing_to_say(script: str):
    done = subprocess.run(["shellcheck", LESSON / script], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@needs_slurm
def test_slurm_would_start_each_job_and_names_a_wrong_partition():
    with slurm.cluster(hosts=2) as cluster:
        for script in SBATCH:
            done = cluster.run("sbatch", *FEW, "--test-only", str(LESSON / script), str(HELLO))
            assert done.returncode == 0 and "on nodes host[0-1] in partition main" in done.stderr, done.stderr
        wrong = cluster.run("sbatch", "--partition=gpus", str(LESSON / SBATCH[0]), str(HELLO))
        assert wrong.returncode == 1 and "invalid partition specified: gpus" in wrong.stderr
        assert cluster.run("squeue", "--noheader").stdout == ""


@pytest.mark.long
@needs_slurm
@pytest.mark.parametrize(
    ("script", "processes", "devices"),
    [
        ("one_per_host.sbatch", 2, [list(range(8))] * 2),
        ("one_per_gpu.sbatch", 16, [[i % 8] for i in range(16)]),
    ],
)
def test_which_gpus_jax_would_take(script: str, processes: int, devices: list[list[int]], tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with slurm.cluster(hosts=2) as cluster:
        job = cluster.submit(*FEW, str(LESSON / script), str(LESSON / "assumed.py"), env=environment())
        assert cluster.wait(job)["JobState"] == "COMPLETED"
    log = next(tmp_path.glob("*.log")).read_text()
    found = [json.loads(line.partition(": ")[2]) for line in log.splitlines() if "{" in line]
    found.sort(key=lambda one: one["process"])
    assert [one["process"] for one in found] == list(range(processes))
    assert [one["num_processes"] for one in found] == [processes] * processes
    assert [one["local_device_ids"] for one in found] == devices
    assert {one["variables"]["CUDA_VISIBLE_DEVICES"] for one in found} == {"0,1,2,3,4,5,6,7"}


@pytest.mark.long
@needs_slurm
@pytest.mark.parametrize("numbers", [None, "0"])
def test_where_each_process_sees_one_gpu_it_can_be_told_to_ask_for_that(numbers: str | None):
    env = environment() | ({"JAX_LOCAL_DEVICE_IDS": numbers} if numbers else {})
    env |= {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "1"}
    srun = ["srun", *FEW, "--nodes=2", "--ntasks-per-node=2", "--gpus-per-task=1", "--kill-on-bad-exit=1"]
    with slurm.cluster(hosts=2) as cluster:
        done = cluster.run(*srun, "python", str(LESSON / "assumed.py"), limit=200, env=env)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert sorted(one["process"] for one in found) == [0, 1, 2, 3]
    assert all("," not in one["variables"]["CUDA_VISIBLE_DEVICES"] for one in found)
    assert sorted(one["local_device_ids"][0] for one in found) == ([0] * 4 if numbers else [0, 0, 1, 1])


def jobset() -> Any:
    return yaml.safe_load((LESSON / "jobset.yaml").read_text("utf-8"))


def test_the_jobset_fits_its_schema():
    jsonschema.validate(jobset(), json.loads(SCHEMA.read_text("utf-8")))


def test_the_jobset_asks_for_the_slice_that_it_names():
    """As many pods as hosts, a host's chips each; their product is the topology's. Source: Google, TPUs in GKE."""
    (slices,) = jobset()["spec"]["replicatedJobs"]
    job = slices["template"]["spec"]
    pod = job["template"]["spec"]
    chips = math.prod(map(int, pod["nodeSelector"]["cloud.google.com/gke-tpu-topology"].split("x")))
    (container,) = pod["containers"]
    assert job["parallelism"] == job["completions"]
    assert job["parallelism"] * container["resources"]["limits"]["google.com/tpu"] == chips


def change(*path: str | int, to: Any) -> Any:
    """The JobSet with one thing another; `...`: without it."""
    changed = inner = copy.deepcopy(jobset())
    for part in path[:-1]:
        inner = inner[part]
    if to is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = to
    return changed


@pytest.mark.parametrize(
    "changed",
    [
        change("apiVersion", to="jobset.x-k8s.io/v1"),
        change("spec", "replicatedJob", to=[]),
        change("spec", "replicatedJobs", to=...),
        change("spec", "replicatedJobs", 0, "replicas", to="1"),
        change("spec", "replicatedJobs", 0, "template", "spec", "completions", to=...),
        change("spec", "replicatedJobs", 0, "template", "spec", "template", "spec", "restartPolicy", to="Always"),
    ],
)
def test_the_schema_refuses_what_kubernetes_would(changed: Any):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(changed, json.loads(SCHEMA.read_text("utf-8")))


def test_on_a_tpu_vm_the_program_is_copied_to_all_hosts_and_started_on_all(tmp_path: Path):
    gcloud = tmp_path / "gcloud"
    gcloud.write_text(f'#!/bin/sh\nfor word; do echo "$word"; done >>{tmp_path}/said; echo . >>{tmp_path}/said\n')
    gcloud.chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "TPU": "mine", "ZONE": "us-west4-a"}
    given = ["--steps", "3", "--name", "it's a night; rm *", ""]
    subprocess.run(["bash", LESSON / "tpu_vm.sh", HELLO, *given], env=env, check=True)
    copied, started, _ = (tmp_path / "said").read_text().split(".\n")
    on_all = {"compute", "tpus", "tpu-vm", "--zone=us-west4-a", "--worker=all"}
    assert set(copied.splitlines()) == on_all | {"scp", str(HELLO), "mine:"}
    (command,) = set(started.splitlines()) - on_all - {"ssh", "mine"}
    words = "timeout -k 10 3500 python3 -u hello.py".split()
    assert shlex.split(command.removeprefix("--command=")) == [*words, *given]  # as the shell of each host reads it
    subprocess.run(["bash", LESSON / "tpu_vm.sh", HELLO], env=env | {"PYTHON": "book/.venv/bin/python"}, check=True)
    assert "--command=timeout -k 10 3500 book/.venv/bin/python -u hello.py\n" in (tmp_path / "said").read_text()


def test_without_a_tpu_s_name_nothing_is_started():
    env = {name: value for name, value in os.environ.items() if name not in ("TPU", "ZONE")}
    done = subprocess.run(["bash", LESSON / "tpu_vm.sh", HELLO], env=env, capture_output=True, text=True)
    assert done.returncode and "TPU: the name of the TPU" in done.stderr


def box(program: Path, folder: Path, gpus: int) -> subprocess.CompletedProcess[str]:
    """gpu_box.sh, with CPU devices in place of GPUs."""
    env = environment() | {
        "JAX_PLATFORMS": "cpu",
        "JAX_NUM_CPU_DEVICES": "1",
        "GPUS": str(gpus),
        "PORT": str(free_port()),
    }
    command = ["bash", str(LESSON / "gpu_box.sh"), str(program)]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300)


def test_on_one_box_each_gpu_has_a_process(tmp_path: Path):
    assert box(HELLO, tmp_path, 2).returncode == 0
    for i in (0, 1):
        assert f"I am process {i} of 2\nmine: [{2048 * i}]" in (tmp_path / f"{i}.log").read_text()


@pytest.mark.parametrize("said", ["", "No devices were found", "couldn't communicate with the NVIDIA driver"])
def test_without_a_gpu_the_box_says_so_and_starts_nothing(said: str, tmp_path: Path):
    smi = tmp_path / "nvidia-smi"
    smi.write_text(f'#!/bin/sh\necho "{said}"\n' if said else "#!/bin/sh\nexit 127\n")
    smi.chmod(0o755)
    env = {name: value for name, value in environment(tmp_path).items() if name != "GPUS"}
    command = ["bash", str(LESSON / "gpu_box.sh"), str(HELLO)]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 2 and not list(tmp_path.glob("*.log"))
    assert done.stderr == "gpu_box.sh: neither nvidia-smi nor GPUS says that there is a GPU.\n"


@pytest.mark.skipif(sys.platform != "linux", reason="`wait -n` needs a newer bash than macOS has")
def test_on_one_box_all_end_when_one_fails(tmp_path: Path):
    program = tmp_path / "fails.py"
    program.write_text(
        "import os, time\nif os.environ['MINIPOD_PROCESS'] == '1': raise SystemExit(3)\ntime.sleep(1000)\n"
    )
    assert box(program, tmp_path, 3).returncode == 3
    assert not running_with(str(program))


def test_what_is_running_is_seen(tmp_path: Path):
    """`running_with` finds what the test above must not find."""
    program = tmp_path / "sleeps.py"
    program.write_text("import time; time.sleep(1000)")
    started = subprocess.Popen([sys.executable, program])
    assert until(lambda: running_with(str(program), seconds=0))
    started.kill()
    started.wait()
