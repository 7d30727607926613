"""Record nights of chapter 16 under a real Slurm, whose daemons run on two simulated hosts of this machine. As root.

    record_night.py night     night.json, in four minutes: one night that is quiet, and two that are not
    record_night.py endings   endings.json, in eight minutes: three nights, and what the job's script decides

`same` is preempted by an urgent job, then one of its processes is killed; it goes on with two processes of four devices
each time. `moved` is cancelled twice and goes on with four processes of two devices, then with one of one. `often` is
preempted nine times, `limit` comes close to its job's time limit, and in `full` the disk of process 1 is full.
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
from pathlib import Path
from typing import Any

from lessons.ch16_capstone.read_logs import entries
from publish.recorders import LESSONS, ROOT, slurm, today, versions
from publish.recorders.slurm import Slurm

HERE = LESSONS / "ch16_capstone"
Night = Callable[[Slurm], dict[str, Any]]
STEPS = 90
OFTEN, LIMIT = 300, 1000  # steps, for nine preemptions and for two minutes
TIMES = 9
URGENT = "#!/bin/sh\nsrun sleep 3\n"


def night() -> dict[str, Any]:
    """Return three nights: for each its losses, its starts and its job's output."""
    return recorded(whole, same, moved)


def endings() -> dict[str, Any]:
    """Return three nights: for each the first and last step of each start, its job's output, and how the job ended."""
    return recorded(often, limit, full)


def recorded(*nights: Night) -> dict[str, Any]:
    """Run these nights and return their results by name, with the date and the versions."""
    with slurm.cluster(hosts=2, grace=60) as cluster:
        results = {night.__name__: night(cluster) for night in nights}
        number = cluster.run("srun", "--version").stdout.split()[1]
    return {"recorded": today(), "versions": {"slurm": number, **versions("jax")}, "nights": results}


def whole(cluster: Slurm) -> dict[str, Any]:
    """Run a night in which nothing happens."""
    wait_for_end(cluster, submit(cluster, "whole", 4))
    return history("whole")


def same(cluster: Slurm) -> dict[str, Any]:
    """Run a night that is preempted, then killed; the same job is requeued each time."""
    job = submit(cluster, "same", 4)
    until(lambda: step_of("same") >= 25, "step 25")
    preempt(cluster)
    until(lambda: starts_of("same") == 2, "the second start")
    until(lambda: step_of("same") >= 55, "step 55")
    os.kill(process_of("1", "same"), signal.SIGKILL)
    wait_for_end(cluster, job)
    return history("same")


def moved(cluster: Slurm) -> dict[str, Any]:
    """Run a night that is cancelled twice; each time another job goes on in the same folder."""
    legs = [(4, (), 25), (2, ("--ntasks-per-node=2",), 55), (1, ("--nodes=1",), STEPS)]
    for turn, (devices, shape, goal) in enumerate(legs, 1):
        job = submit(cluster, "moved", devices, *shape)
        until(lambda turn=turn: starts_of("moved") == turn, f"start {turn}")
        if goal < STEPS:
            until(lambda goal=goal: step_of("moved") >= goal, f"step {goal}")
            cluster.run("scancel", str(job))
        wait_for_end(cluster, job)
    return history("moved")


def often(cluster: Slurm) -> dict[str, Any]:
    """Run a night that is preempted and requeued time after time."""
    job = submit(cluster, "often", 4, steps=OFTEN)
    for turn in range(1, TIMES + 1):
        until(lambda turn=turn: starts_of("often") == turn, f"start {turn}")
        preempt(cluster)
    wait_for_end(cluster, job)
    return summary(cluster, job, "often")


def limit(cluster: Slurm) -> dict[str, Any]:
    """Run a night that is too long for its job's two minutes."""
    job = submit(cluster, "limit", 4, "--time=2", "--signal=TERM@20", steps=LIMIT)
    wait_for_end(cluster, job, 600)
    return summary(cluster, job, "limit")


def full(cluster: Slurm) -> dict[str, Any]:
    """Run a night in which the disk of one process is full."""
    prolog = Path("prolog.sh").absolute()
    fault = '[ "$SLURM_PROCID" = 1 ] && echo export NIGHT_FAULT=FULL@33'
    prolog.write_text(f"#!/bin/sh\n{fault}\nexit 0\n")
    prolog.chmod(0o755)
    job = submit(cluster, "full", 4, more={"SLURM_TASK_PROLOG": str(prolog)})
    wait_for_end(cluster, job)
    return summary(cluster, job, "full")


def preempt(cluster: Slurm) -> None:
    """Submit an urgent job that needs all nodes."""
    Path("urgent.sbatch").write_text(URGENT)
    urgent = ("--partition=urgent", "--nodes=2", "--exclusive")
    cluster.submit(*urgent, "--output=urgent.out", "urgent.sbatch")


def submit(
    cluster: Slurm, name: str, devices: int, *shape: str, steps: int = STEPS, more: Mapping[str, str] = {}
) -> int:
    """Submit the night as a reader would; a step takes 0.1 s longer, so that there is time to interfere."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("MINIPOD_")}
    env |= {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": str(devices)}
    env |= {"NIGHT_FAULT": "SLOW@1", "PYTHONPATH": str(ROOT)}
    env["PATH"] = f"{Path(sys.executable).parent}:{env['PATH']}"
    output = f"--output={name}.out"
    return cluster.submit(*shape, output, "night.sbatch", name, str(steps), env=env | dict(more))


def wait_for_end(cluster: Slurm, job: int, seconds: float = 120) -> None:
    """Wait for the end of a job that may be requeued before."""
    ends = "COMPLETED", "CANCELLED", "FAILED", "TIMEOUT"
    until(lambda: cluster.job(job).get("JobState") in ends, f"the end of job {job}", seconds)


def until(holds: Callable[[], bool], what: str, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            outputs = [path.read_text() for path in Path().glob("*.out")]
            raise TimeoutError("\n".join([f"{what} did not arrive", *outputs]))
        time.sleep(0.1)


def log_of(name: str) -> list[tuple[int, int, float, int, str]]:
    path = Path(name, "logs/000.log")
    return entries(path) if path.exists() else []


def step_of(name: str) -> int:
    return max((step for _, step, *_ in log_of(name)), default=0)


def starts_of(name: str) -> int:
    return len({start for start, *_ in log_of(name)})


def process_of(number: str, name: str) -> int:
    """Return the pid of a night's process, by its number within the job's step."""
    wanted = f"SLURM_PROCID={number}".encode()
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (path / "cmdline").read_bytes().split(b"\0")
            if b"python" in command[0] and b"night.py" in command and name.encode() in command:
                if wanted in (path / "environ").read_bytes().split(b"\0"):
                    return int(path.name)
    raise ProcessLookupError(f"process {number} of {name} is not there")


def history(name: str) -> dict[str, Any]:
    """Return what remains of a night: losses, (seconds, step) of each start, output."""
    log = [entry for entry in log_of(name) if entry[4].startswith("loss 0")]
    first = log[0][2]
    starts: dict[int, list[tuple[float, int]]] = {}
    for start, step, clock, *_ in log:
        starts.setdefault(start, []).append((round(clock - first, 2), step))
    output, losses = Path(f"{name}.out").read_text(), Path(name, "losses.json")
    ours = r"^(begins|told|loss of|ended|process|check|a person).*"
    return {
        "losses": json.loads(losses.read_text()) if losses.exists() else [],
        "starts": list(starts.values()),
        "output": [match[0] for match in re.finditer(ours, output, re.M)],
    }


def summary(cluster: Slurm, job: int, name: str) -> dict[str, Any]:
    """Return the first and last step of each start, the output, and how the job ended."""
    night, ended = history(name), cluster.job(job)
    starts = [[start[0][1], start[-1][1]] for start in night["starts"]]
    return {"starts": starts, "output": night["output"], "job": [ended["JobState"], ended["ExitCode"]]}


def prepare(folder: Path) -> None:
    """Copy the night's files and write its data, as a reader has them on a cluster."""
    for path in (*HERE.glob("*.py"), HERE / "night.sbatch"):
        shutil.copy(path, folder)
    subprocess.run([sys.executable, str(HERE / "write_data.py")], cwd=folder, check=True)


if __name__ == "__main__":
    if reason := slurm.why_not():
        raise SystemExit(reason)
    what = (sys.argv[1:] or ["night"])[0]
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        prepare(Path(scratch))
        nights = endings() if what == "endings" else night()
        os.chdir(HERE)
    text = json.dumps(nights, ensure_ascii=False).replace('}, "', '},\n"')  # a line for each night
    (HERE / f"{what}.json").write_text(text + "\n")
