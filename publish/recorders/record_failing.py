"""Record every way to fail under every launcher of chapter 14, several times: failing.json. As root, in half an hour.

    record_failing.py [LAUNCHER…]

For each way it records the seconds until all processes have ended, the status that a script sees, and in how many tries
the log gives the reason. It stops if a process is left.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lessons.ch14_launching import failing
from minipod import cluster
from minipod.processes import free_port
from publish.recorders import launchers, save, slurm, today, versions
from publish.recorders.launchers import HERE, LIMIT, left_running

PROGRAM = str(HERE / "failing.py")
TRIES = 3
LONG = 60.0  # seconds: a way that takes longer is tried once
MORE = {"raises", "raises before initialize", "lacks a package"}  # 20 times
CPU = {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "2"}

Try = Callable[[str], tuple[int, str]]  # a way to fail: the status, the log


def minipod_run(way: str) -> tuple[int, str]:
    done = cluster.run(PROGRAM, way, devices=2, limit=120, check=False)
    return done.exit_code, "\n".join([*done.outputs, done.first_failure or ""])


def by_slurm(here: slurm.Slurm) -> Try:
    def once(way: str) -> tuple[int, str]:
        job = here.submit(HERE / "two_processes.sbatch", PROGRAM, way, env=launchers.environment() | CPU)
        end = here.wait(job, seconds=LIMIT)
        code, _, sent = end["ExitCode"].partition(":")
        return int(code) or int(sent), Path(f"two-processes-{job}.log").read_text("utf-8")

    return once


def by_mpirun(prefix: Path | None) -> Try:
    def once(way: str) -> tuple[int, str]:
        done = launchers.with_mpi(["sh", str(HERE / "two_processes.mpirun.sh"), PROGRAM, way], prefix)
        return done.returncode, done.stdout + done.stderr

    return once


def by_hand(way: str) -> tuple[int, str]:
    script = ["sh", str(HERE / "by_hand.sh"), "host0:7777", "2"]
    commands = [[*script, str(i), PROGRAM, way] for i in (0, 1)]
    codes, log = launchers.on_hosts(commands, [launchers.environment() | CPU] * 2)
    return next((code for code in codes if code), 0), log


def gpu_box(way: str) -> tuple[int, str]:
    env = launchers.environment() | CPU
    env |= {"GPUS": "2", "PORT": str(free_port()), "JAX_NUM_CPU_DEVICES": "1"}
    done = subprocess.run(["bash", str(HERE / "gpu_box.sh"), PROGRAM, way], env=env, timeout=LIMIT)
    return done.returncode, "".join(Path(f"{i}.log").read_text("utf-8") for i in (0, 1))


def tried(once: Try, way: str, times: int) -> dict[str, Any]:
    """Try a way to fail so many times, and return the results. Raises SystemExit if a process is left."""
    seconds, codes, named = [], [], 0
    for _ in range(times):
        began = time.monotonic()
        code, log = once(way)
        seconds.append(round(time.monotonic() - began, 1))
        codes.append(code)
        named += failing.WAYS[way] in log
        if left := left_running(PROGRAM, seconds=5):
            raise SystemExit(f"{way}: {len(left)} processes are left")
        if seconds[-1] > LONG:
            break
    return {"seconds": seconds, "status": codes, "reasons": named}


def record(names: list[str]) -> None:
    """Record all launchers, or only those that are named; failing.json is written after each launcher."""
    file = HERE / "failing.json"
    recorded = json.loads(file.read_text("utf-8")) if file.exists() else {}
    when = recorded.get("recorded", {})  # by launcher
    prefix = launchers.install_open_mpi_5(Path.cwd())
    with slurm.cluster(hosts=2) as here:
        ways: dict[str, Try] = {
            "minipod run": minipod_run,
            "srun": by_slurm(here),
            "mpirun 4": by_mpirun(None),
            "mpirun 5": by_mpirun(prefix),
            "by hand": by_hand,
            "gpu_box.sh": gpu_box,
        }
        for name in names or ways:
            recorded[name] = {}
            for way in failing.WAYS:
                times = 20 if name == "srun" and way in MORE else TRIES
                recorded[name][way] = tried(ways[name], way, times)
                print(name, way, recorded[name][way], flush=True)
            when[name] = {"date": today(), "JAX": versions("jax")["jax"]}
            save(file, {"recorded": when} | {name: recorded[name] for name in ways if name in recorded})


if __name__ == "__main__":
    if reason := slurm.why_not() or launchers.why_no_mpirun_4():
        raise SystemExit(reason)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        record(sys.argv[1:])
        os.chdir(HERE)
