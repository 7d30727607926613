"""Runs of this chapter's programs on two hosts: here and now where hosts can be
made, else as they went when recorded.json was written (by record_wire.py)."""

import functools
import json
import os
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from minipod import cluster, hosts
from minipod.cluster import Run

FOLDER = Path(__file__).parent
FAR = "100 Mbit/s, 5 ms"
CABLES: dict[str, dict[str, str] | None] = {  # None: no cable at all
    "one process": None,
    "loopback": None,
    "two hosts": {},
    "1 Gbit/s": {"rate": "1gbit"},
    "100 Mbit/s": {"rate": "100mbit"},
    FAR: {"rate": "100mbit", "delay": "5ms"},
}
RATES = {"1 Gbit/s": 1e9 / 8, "100 Mbit/s": 1e8 / 8, FAR: 1e8 / 8}  # bytes/s
SIZES = [2**10, 2**14, 2**18, 2**20, 2**22]  # bytes on each device
TIMED = [  # the small ones first: large ones stir up the machine
    "hops:128",
    "flat:1024",
    "two_level:1024",
    *(f"flat:{size}" for size in SIZES[1:]),
    "two_level:1048576",
]
ORDERS = [  # on one cable only: the bytes are the same on all
    "flat:1048576:zigzag",
    "inside:1048576",
    "inside:1048576:zigzag",
]
PROGRAMS = [  # (program, cable): what the page runs besides
    ("where.py", "two hosts"),
    ("many_small.py", FAR),
    ("wrong_address.py", "two hosts"),
    ("mesh_orders.py", "two hosts"),
]


class Device(NamedTuple):
    """A device of another process, as far as a picture needs it."""

    id: int
    process_index: int


@functools.cache
def recorded() -> dict[str, Any]:
    """recorded.json: the conditions, and what each run printed."""
    return json.loads((FOLDER / "recorded.json").read_text("utf-8"))


@functools.cache
def why_not() -> str | None:
    """Why there can be no hosts on this machine; None if there can."""
    return hosts.why_not(delay=True)


def source() -> str:
    """Where the figures come from, in one sentence."""
    if why_not() is None:
        cores = f"{os.cpu_count()} cores, {others():.1f} in use before"
        return f"measured where this page was executed: {cores}"
    return f"recorded ({recorded()['conditions']}), since {why_not()}"


def others(seconds: float = 1.0) -> float:
    """How many programs besides this one wanted a core, on average (Linux)."""
    wanting, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        running = Path("/proc/loadavg").read_text().split()[3]  # such as 2/345
        wanting.append(int(running.partition("/")[0]) - 1)
        time.sleep(0.02)
    return max(0.0, sum(wanting) / len(wanting))


def run(program: str, *arguments: str, cable: str = "two hosts") -> Run:
    """Run a program on two hosts of four devices, or tell how it went."""
    if why_not() is None:
        return run_here(program, *arguments, cable=cable)
    return Run(**recorded()["runs"][f"{program} on {cable}"])


def run_here(program: str, *arguments: str, cable: str) -> Run:
    """The same, on this machine in any case."""
    path, options = FOLDER / program, {"limit": 150.0, "check": False}
    cabling = CABLES[cable]
    if cabling is None:
        return cluster.run(path, *arguments, **options)
    with hosts.lab(2, **cabling) as lab:
        return lab.run(path, *arguments, **options)


def timed(cable: str) -> list[str]:
    """What is timed on a cable, as arguments of time_sums.py."""
    return TIMED + ORDERS * (cable == "100 Mbit/s")


def times(cable: str) -> dict[str, tuple[float, int]]:
    """{"flat:1024": (seconds, bytes that left a host)} on one cable."""
    if cable == "one process":
        lines = here() if why_not() is None else recorded()[cable]
    else:
        done = run("time_sums.py", *timed(cable), cable=cable)
        if not done.ok:
            raise RuntimeError(f"the sums could not be timed: {done}")
        lines = done.outputs[0].splitlines()
    rows = [line.split() for line in lines]
    return {what: (float(took), int(sent)) for what, took, sent in rows}


def here() -> list[str]:
    """The sums timed in this process, as time_sums.py would print them."""
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))
    import stopwatch

    lines = []
    for what in TIMED:
        name, size, *order = what.split(":")
        took, sent = stopwatch.measure(name, bool(order), int(size))
        lines.append(f"{what} {took} {sent}")
    return lines


def devices(done: Run) -> list[Device]:
    """The devices that where.py found, in order of their processes."""
    found = [json.loads(text.rpartition(":")[2]) for text in done.outputs]
    return [Device(i, p) for p, own in enumerate(found) for i in own]
