"""Record what Slurm itself does to a job, three times each, for chapter 14: slurm_ends.json. As root, in six minutes.

The ways are two steps of one job at once, the job's time limit, and a node that goes down. Each has the seconds until
all processes have ended, counted from the event; the job's state, its script's status, and whether the log says why.
"""

import os
import tempfile
import time
from pathlib import Path
from typing import Any

from publish.recorders import save, slurm, today, versions
from publish.recorders.launchers import HERE, LIMIT, environment, left_running

PROGRAM = str(HERE / "goes_on.py")
TRIES = 3
WAYS = {  # to end by Slurm itself, and the text in the log that says so
    "two steps of one job": "both steps ended with 0 and 0",
    "time limit": "DUE TO TIME LIMIT",
    "node down": "DUE TO NODE FAILURE",
}
STEPS = f"""#!/bin/bash
start() {{
  srun --nodes=2 --ntasks=2 --cpus-per-task=2 --exact --kill-on-bad-exit=1 \\
    --label python -m minipod start {PROGRAM} 12
}}
start & first=$!
start & second=$!
wait $first; a=$?
wait $second; b=$?
echo "both steps ended with $a and $b"
exit $((a > b ? a : b))
"""
CPU = {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "2"}


def once(here: slurm.Slurm, way: str) -> dict[str, Any]:
    """Try one way; the seconds count from the event."""
    script, options = HERE / "two_processes.sbatch", ["--no-requeue"]
    if way == "two steps of one job":
        script = Path("steps.sbatch")
        script.write_text(STEPS)
        options += ["--nodes=2", "--ntasks-per-node=2", "--cpus-per-task=2"]
    if way == "time limit":
        options.append("--time=1")
    log = Path(f"{way.replace(' ', '-')}.log")
    log.unlink(missing_ok=True)
    arguments = [*options, f"--output={log}", str(script), PROGRAM, "400"]
    job = here.submit(*arguments, env=environment() | CPU)
    began = struck = time.monotonic()
    if way == "node down":
        while not (log.exists() and "step 3" in log.read_text()):
            if time.monotonic() > began + LIMIT:
                raise SystemExit(f"{way}: no step was done")
            time.sleep(0.05)
        struck = time.monotonic()
        here.run("scontrol", "update", "nodename=host1", "state=down", "reason=tried")
    end = here.wait(job, seconds=LIMIT)
    if left := left_running(PROGRAM, seconds=LIMIT):
        raise SystemExit(f"{way}: {len(left)} processes are left")
    seconds = time.monotonic() - struck
    if way == "time limit":
        seconds -= 60
    if way == "node down":
        here.run("scontrol", "update", "nodename=host1", "state=resume")
    code, _, sent = end["ExitCode"].partition(":")
    text = log.read_text()
    if "step creation temporarily disabled" in text:
        raise SystemExit(f"{way}: the second step had to wait for the first")
    print(way, round(time.monotonic() - began), end["JobState"], flush=True)
    return {
        "seconds": round(seconds, 1),
        "state": end["JobState"],
        "status": int(code) or 128 * (sent != "0") + int(sent),
        "reason": WAYS[way] in text,
    }


def record(here: slurm.Slurm, tries: int = TRIES) -> dict[str, Any]:
    """Try all ways, `tries` times each, in the current folder."""
    return {way: [once(here, way) for _ in range(tries)] for way in WAYS}


if __name__ == "__main__":
    if reason := slurm.why_not():
        raise SystemExit(reason)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with slurm.cluster(hosts=2) as here:
            ends = record(here)
            number = here.run("srun", "--version").stdout.split()[1]
        os.chdir(HERE)
    when = {"date": today(), "JAX": versions("jax")["jax"], "Slurm": number}
    save(HERE / "slurm_ends.json", {"recorded": when} | ends)
