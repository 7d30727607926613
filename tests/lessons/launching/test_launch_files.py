"""The files that readers take along to a cluster, checked as far as goes without it."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from still_running import running_with, until

from minipod.processes import free_port
from publish.recorders.launchers import environment

LESSON = Path(__file__).resolve().parents[3] / "lessons/ch14_launching"
HELLO = LESSON.parent / "ch10_processes/hello.py"
SCRIPTS = [*sorted([*LESSON.glob("*.sh"), *LESSON.glob("*.sbatch")]), LESSON.parent / "ch16_capstone/night.sbatch"]


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed: apt install shellcheck")
def test_shellcheck_has_nothing_to_say():
    done = subprocess.run(["shellcheck", *SCRIPTS], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


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
    words = "timeout -s ABRT -k 10 3500 python3 -X faulthandler -u hello.py".split()
    assert shlex.split(command.removeprefix("--command=")) == [*words, *given]  # as the shell of each host reads it
    done = subprocess.run(["bash", LESSON / "tpu_vm.sh", HELLO], env={**env, "TPU": ""}, capture_output=True, text=True)
    assert done.returncode and "TPU: the name of the TPU" in done.stderr
    subprocess.run(["bash", LESSON / "tpu_vm.sh", HELLO], env=env | {"PYTHON": "book/.venv/bin/python"}, check=True)
    other = "timeout -s ABRT -k 10 3500 book/.venv/bin/python -X faulthandler -u hello.py"
    assert f"--command={other}\n" in (tmp_path / "said").read_text()


def test_a_process_that_hangs_shows_where_when_its_time_is_up(tmp_path: Path):
    os.mkfifo(tmp_path / "never-written")
    program = tmp_path / "hangs.py"
    program.write_text(f"import os\n\nopen({str(tmp_path / 'never-written')!r})\n")
    script = tmp_path / "by_hand.sh"  # the words before the program are those of the batch files, too
    command = ["sh", str(script), "127.0.0.1:1", "1", "0", str(program)]
    shown = f'File "{program}", line 3 in <module>'
    for seconds in (3, 12, 48, 192):  # until it has come so far: only the machine knows when
        script.write_text((LESSON / "by_hand.sh").read_text().replace(" 240 ", f" {seconds} "))
        done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=300)
        if shown in done.stderr:
            break
    assert done.returncode == 124 and shown in done.stderr
    for file in SCRIPTS:
        assert " timeout -k" not in file.read_text(), file.name  # SIGTERM: no stacks


def box(program: Path, folder: Path, **gpus: str) -> subprocess.CompletedProcess[str]:
    """gpu_box.sh, with CPU devices in place of GPUs; the commands of `folder` come first."""
    env = {name: value for name, value in environment(folder).items() if name != "GPUS"}
    env |= {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "1", "PORT": str(free_port())} | gpus
    command = ["bash", str(LESSON / "gpu_box.sh"), str(program)]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300)


def test_on_one_box_each_gpu_has_a_process(tmp_path: Path):
    assert box(HELLO, tmp_path, GPUS="2").returncode == 0
    for i in (0, 1):
        assert f"I am process {i} of 2\nmine: [{2048 * i}]" in (tmp_path / f"{i}.log").read_text()


@pytest.mark.parametrize("said", ["", "No devices were found", "couldn't communicate with the NVIDIA driver"])
def test_without_a_gpu_the_box_says_so_and_starts_nothing(said: str, tmp_path: Path):
    smi = tmp_path / "nvidia-smi"
    smi.write_text(f'#!/bin/sh\necho "{said}"\n' if said else "#!/bin/sh\nexit 127\n")
    smi.chmod(0o755)
    done = box(HELLO, tmp_path)
    assert done.returncode == 2 and not list(tmp_path.glob("*.log"))
    assert done.stderr == "gpu_box.sh: neither nvidia-smi nor GPUS says that there is a GPU.\n"


@pytest.mark.skipif(sys.platform != "linux", reason="`wait -n` needs a newer bash than macOS has")
def test_on_one_box_all_end_when_one_fails(tmp_path: Path):
    program = tmp_path / "fails.py"
    program.write_text(
        "import os, time\nif os.environ['MINIPOD_PROCESS'] == '1': raise SystemExit(3)\ntime.sleep(1000)\n"
    )
    assert box(program, tmp_path, GPUS="3").returncode == 3
    assert not running_with(str(program))
    left = subprocess.Popen([sys.executable, program], env=os.environ | {"MINIPOD_PROCESS": "0"})
    assert until(lambda: running_with(str(program), seconds=0)), "it would have been seen"
    left.kill()
    left.wait()
