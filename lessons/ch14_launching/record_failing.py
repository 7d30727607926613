"""Write failing.json: every way to fail under every launcher, several times.

.venv/bin/python -m lessons.ch14_launching.record_failing   (as root, an hour)

For each the seconds until all processes have ended, the status that a script
sees, and in how many of the tries the log says why; none may leave a process.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.support import slurm
from tests.support.still_running import running_with

from lessons.ch14_launching import failing, launchers
from minipod import cluster
from minipod.processes import free_port

HERE = Path(__file__).parent
PROGRAM = str(HERE / "failing.py")
TRIES = 3
LONG = 60.0  # seconds: who takes longer is tried once
MORE = {"raises", "raises before initialize", "lacks a package"}  # 20 times
CPU = {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "2"}

Try = Callable[[str], tuple[int, str]]  # a way to fail: the status, the log


def minipod_run(way: str) -> tuple[int, str]:
    done = cluster.run(PROGRAM, way, devices=2, limit=120, check=False)
    return done.exit_code, "\n".join([*done.outputs, done.first_failure or ""])


def by_slurm(here: slurm.Slurm) -> Try:
    def once(way: str) -> tuple[int, str]:
        script, env = HERE / "two_processes.sbatch", launchers.environment()
        job = here.submit(script, PROGRAM, way, env=env | CPU)
        end = here.wait(job, seconds=launchers.LIMIT)
        code, _, sent = end["ExitCode"].partition(":")
        log = Path(f"two-processes-{job}.log").read_text("utf-8")
        return int(code) or int(sent), log

    return once


def by_mpirun(prefix: Path | None) -> Try:
    def once(way: str) -> tuple[int, str]:
        script = str(HERE / "two_processes.mpirun.sh")
        done = launchers.with_mpi(["sh", script, PROGRAM, way], prefix)
        return done.returncode, done.stdout + done.stderr

    return once


def by_hand(way: str) -> tuple[int, str]:
    script = ["sh", str(HERE / "by_hand.sh"), "host0:7777", "2"]
    commands = [[*script, str(i), PROGRAM, way] for i in (0, 1)]
    env = launchers.environment() | CPU
    codes, said = launchers.on_hosts(commands, [env] * 2)
    return next((code for code in codes if code), 0), said


def gpu_box(way: str) -> tuple[int, str]:
    env = launchers.environment() | CPU
    env |= {"GPUS": "2", "PORT": str(free_port()), "JAX_NUM_CPU_DEVICES": "1"}
    command = ["bash", str(HERE / "gpu_box.sh"), PROGRAM, way]
    done = subprocess.run(command, env=env, timeout=launchers.LIMIT)
    logs = (Path(f"{i}.log").read_text("utf-8") for i in (0, 1))
    return done.returncode, "".join(logs)


def tried(once: Try, way: str, times: int) -> dict[str, Any]:
    """What became of so many tries; raises where a process is left."""
    seconds, codes, told = [], [], 0
    for _ in range(times):
        began = time.monotonic()
        code, log = once(way)
        seconds.append(round(time.monotonic() - began, 1))
        codes.append(code)
        told += failing.WAYS[way] in log
        if left := running_with(PROGRAM, seconds=5):
            raise SystemExit(f"{way}: {len(left)} processes are left")
        if seconds[-1] > LONG:
            break
    return {"seconds": seconds, "status": codes, "told": told}


def main() -> None:
    """All of it, or only the launchers that are named."""
    if reason := slurm.why_not() or launchers.why_no_mpirun_4():
        raise SystemExit(reason)
    file = HERE / "failing.json"
    found = json.loads(file.read_text("utf-8")) if file.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        prefix = launchers.install_open_mpi_5(Path(folder))
        with slurm.cluster(hosts=2) as here:
            ways: dict[str, Try] = {
                "minipod run": minipod_run,
                "srun": by_slurm(here),
                "mpirun 4": by_mpirun(None),
                "mpirun 5": by_mpirun(prefix),
                "by hand": by_hand,
                "gpu_box.sh": gpu_box,
            }
            for name in sys.argv[1:] or ways:
                found[name] = {}
                for way in failing.WAYS:
                    times = 20 if name == "srun" and way in MORE else TRIES
                    found[name][way] = tried(ways[name], way, times)
                    print(name, way, found[name][way], flush=True)
                when = {"date": date.today().isoformat(), "JAX": version("jax")}
                ordered = {n: found[n] for n in ways if n in found}
                text = json.dumps({"recorded": when} | ordered, indent=1)
                file.write_text(text + "\n", "utf-8")
        os.chdir(HERE)


if __name__ == "__main__":
    main()
