"""Write recorded.json: what the programs print where hosts can be made.

.venv/bin/python -m lessons.ch13_network.record_wire
"""

import dataclasses
import json
import os
import platform
from datetime import date
from pathlib import Path

from minipod import devices, hosts


def conditions() -> str:
    """Where and when, in a few words."""
    cpu = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    import jax

    return (
        f"{date.today().isoformat()}, {len(os.sched_getaffinity(0))} cores of "
        f"{cpu}, Linux {platform.release().partition('-')[0]}, JAX "
        f"{jax.__version__}, load {os.getloadavg()[0]:.1f} before"
    )


def main() -> None:
    """Run everything that the page runs, and write what it printed."""
    if reason := hosts.why_not(delay=True):
        raise SystemExit(reason)
    devices.simulate(8)
    from lessons.ch13_network import wire

    found = {"conditions": conditions(), "one process": wire.here(), "runs": {}}
    timed = [("time_sums.py", c) for c in wire.CABLES if c != "one process"]
    for program, cable in wire.PROGRAMS + timed:
        arguments = wire.timed(cable) if program == "time_sums.py" else []
        done = wire.run_here(program, *arguments, cable=cable)
        found["runs"][f"{program} on {cable}"] = dataclasses.asdict(done)
        print(program, cable, f"{done.seconds:.1f} s", flush=True)
    text = json.dumps(found, indent=1, ensure_ascii=False)
    (wire.FOLDER / "recorded.json").write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
