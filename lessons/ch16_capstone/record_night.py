"""Write night.json: two nights under a real Slurm, and one that was quiet.

.venv/bin/python -m lessons.ch16_capstone.record_night   (as root, 4 minutes)

Slurm's daemons run on two pretend hosts of this machine (tests.support.slurm).
«same» is preempted by an urgent job, then one of its processes is killed; it
goes on with two processes of four devices each time. «moved» is cancelled twice
and goes on with four processes of two devices, then with one of one.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.support import slurm
from tests.support.slurm import Slurm

from lessons.ch16_capstone.read_logs import entries

HERE = Path(__file__).parent
Night = Callable[[Slurm], dict[str, object]]
STEPS = 90
URGENT = "#!/bin/sh\nsrun sleep 3\n"


def record() -> dict[str, object]:
    """The three nights: of each its losses, its starts, its job's output."""
    return recorded(whole, same, moved)


def recorded(
    *nights: Callable[[Slurm], dict[str, object]],
) -> dict[str, object]:
    """What each of these gives, by its name; when, and with what."""
    with slurm.cluster(hosts=2, grace=60) as cluster:
        found = {night.__name__: night(cluster) for night in nights}
        said = cluster.run("srun", "--version").stdout.split()[1]
    return {
        "recorded": date.today().isoformat(),
        "versions": {"slurm": said, "jax": version("jax")},
        "nights": found,
    }


def whole(cluster: Slurm) -> dict[str, object]:
    """Nothing happens."""
    ended(cluster, submit(cluster, "whole", 4))
    return told_of("whole")


def same(cluster: Slurm) -> dict[str, object]:
    """Preempted, then killed; the same job, requeued each time."""
    job = submit(cluster, "same", 4)
    until(lambda: step_of("same") >= 25, "step 25")
    preempt(cluster)
    until(lambda: starts_of("same") == 2, "the second start")
    until(lambda: step_of("same") >= 55, "step 55")
    os.kill(process_of("1", "same"), signal.SIGKILL)
    ended(cluster, job)
    return told_of("same")


def moved(cluster: Slurm) -> dict[str, object]:
    """Cancelled twice; each time another job goes on in the same folder."""
    legs = [
        (4, (), 25),
        (2, ("--ntasks-per-node=2",), 55),
        (1, ("--nodes=1",), STEPS),
    ]
    for turn, (devices, shape, goal) in enumerate(legs, 1):
        job = submit(cluster, "moved", devices, *shape)
        until(lambda turn=turn: starts_of("moved") == turn, f"start {turn}")
        if goal < STEPS:
            until(lambda goal=goal: step_of("moved") >= goal, f"step {goal}")
            cluster.run("scancel", str(job))
        ended(cluster, job)
    return told_of("moved")


def preempt(cluster: Slurm) -> None:
    """An urgent job wants all nodes."""
    Path("urgent.sbatch").write_text(URGENT)
    urgent = ("--partition=urgent", "--nodes=2", "--exclusive")
    cluster.submit(*urgent, "--output=urgent.out", "urgent.sbatch")


def submit(
    cluster: Slurm,
    name: str,
    devices: int,
    *shape: str,
    steps: int = STEPS,
    more: Mapping[str, str] = {},
) -> int:
    """Hand the night in as a reader would; a step takes 0.1 s longer, so that
    there is time to strike."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("MINIPOD_")}
    env |= {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": str(devices)}
    env |= {"NIGHT_FAULT": "SLOW@1", "PYTHONPATH": str(HERE.parents[1])}
    env["PATH"] = f"{Path(sys.executable).parent}:{env['PATH']}"
    output = f"--output={name}.out"
    return cluster.submit(
        *shape, output, "night.sbatch", name, str(steps), env=env | dict(more)
    )


def ended(cluster: Slurm, job: int, seconds: float = 120) -> None:
    """Wait for the end of a job that may be requeued on its way."""
    ends = "COMPLETED", "CANCELLED", "FAILED", "TIMEOUT"
    until(
        lambda: cluster.job(job).get("JobState") in ends,
        f"the end of job {job}",
        seconds,
    )


def until(holds: Callable[[], bool], what: str, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            outputs = [path.read_text() for path in Path().glob("*.out")]
            raise TimeoutError("\n".join([f"{what} did not come", *outputs]))
        time.sleep(0.1)


def log_of(name: str) -> list[tuple[int, int, float, int, str]]:
    path = Path(name, "logs/000.log")
    return entries(path) if path.exists() else []


def step_of(name: str) -> int:
    return max((step for _, step, *_ in log_of(name)), default=0)


def starts_of(name: str) -> int:
    return len({start for start, *_ in log_of(name)})


def process_of(number: str, name: str) -> int:
    """The pid of a night's process, by its number within the job's step."""
    wanted = f"SLURM_PROCID={number}".encode()
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (path / "cmdline").read_bytes().split(b"\0")
            if b"night.py" in command and name.encode() in command:
                if wanted in (path / "environ").read_bytes().split(b"\0"):
                    if b"python" in command[0]:
                        return int(path.name)
    raise ProcessLookupError(f"process {number} of {name} is not there")


def told_of(name: str) -> dict[str, Any]:
    """What stays of a night: losses, (seconds, step) of each start, output."""
    log = [entry for entry in log_of(name) if entry[4].startswith("loss 0")]
    first = log[0][2]
    starts: dict[int, list[tuple[float, int]]] = {}
    for start, step, clock, *_ in log:
        starts.setdefault(start, []).append((round(clock - first, 2), step))
    out, losses = Path(f"{name}.out").read_text(), Path(name, "losses.json")
    ours = r"^(begins|told|loss of|ended|process|check|a person).*"
    return {
        "losses": json.loads(losses.read_text()) if losses.exists() else [],
        "starts": list(starts.values()),
        "output": [m[0] for m in re.finditer(ours, out, re.M)],
    }


def write(name: str, record: Callable[[], dict[str, object]]) -> None:
    """What `record` gives, in a folder of its own, as a file of this one."""
    if reason := slurm.why_not():
        raise SystemExit(reason)
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            prepare(Path(folder))
            found = record()
        finally:
            os.chdir(before)
    text = json.dumps(found, indent=None, ensure_ascii=False)
    (HERE / name).write_text(text.replace('}, "', '},\n"') + "\n")


def prepare(folder: Path) -> None:
    """The night's files and its data, as a reader has them on a cluster."""
    for path in (*HERE.glob("*.py"), HERE / "night.sbatch"):
        shutil.copy(path, folder)
    write = [sys.executable, str(HERE / "write_data.py")]
    subprocess.run(write, cwd=folder, check=True)


if __name__ == "__main__":
    write("night.json", record)
