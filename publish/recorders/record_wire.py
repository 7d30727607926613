"""Record chapter 13's programs on two hosts, for machines without `minipod hosts`: recorded.json, in five minutes."""

import dataclasses
import os
import platform
from pathlib import Path
from typing import Any

import jax

from minipod import devices, hosts
from publish.recorders import LESSONS, save, today


def conditions() -> str:
    """Return the date, the machine and its load, in a few words."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return (
        f"{today()}, {len(os.sched_getaffinity(0))} cores of {next(models, platform.machine())}, Linux "
        f"{platform.release().partition('-')[0]}, JAX {jax.__version__}, load {os.getloadavg()[0]:.1f} before"
    )


def record() -> dict[str, Any]:
    """Return what each program of the page prints on each cable."""
    devices.simulate(8)
    from lessons.ch13_network import wire

    recorded: dict[str, Any] = {"conditions": conditions(), "one process": wire.here(), "runs": {}}
    timed = [("time_sums.py", c) for c in wire.CABLES if c != "one process"]
    for program, cable in wire.PROGRAMS + timed:
        arguments = wire.timed(cable) if program == "time_sums.py" else []
        done = wire.run_here(program, *arguments, cable=cable)
        recorded["runs"][f"{program} on {cable}"] = dataclasses.asdict(done)
        print(program, cable, f"{done.seconds:.1f} s", flush=True)
    return recorded


if __name__ == "__main__":
    if reason := hosts.why_not(delay=True):
        raise SystemExit(reason)
    save(LESSONS / "ch13_network/recorded.json", record())
