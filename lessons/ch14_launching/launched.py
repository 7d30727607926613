"""What launched.json has of real launchers, for the pages.

record_launchers.py writes it; a long test runs the same again and compares.
"""

import json
import re
from pathlib import Path
from textwrap import fill, shorten
from typing import Any

from lessons.ch14_launching.failing import WAYS
from minipod.cluster import Run
from minipod.tables import Table

ENDED = ("time limit", "node down")  # by Slurm
FILE = Path(__file__).with_name("launched.json")
WIDTH = 78
STATUS = re.compile(r"^(\d:) F\d{4} .*absl::Status: (.*)")  # JAX's last words
NOISE = re.compile(
    r"^\d: [EWF]\d{4} |RPC: /|stack trace|StepId=|CANCELLED AT"
    r"|The tasks have crashed|queued and waiting|has been allocated"
)


def recorded() -> dict:
    """All of it: "versions", "programs", "assumed" and "faults"."""
    return json.loads(FILE.read_text("utf-8"))


def versions() -> None:
    """Print when it was recorded, and with what."""
    said = recorded()["versions"]
    names = {k: k.rstrip(" 45") for k in said if k != "date"}
    others = ", ".join(f"{name} {said[k]}" for k, name in names.items())
    print(f"recorded on {said['date']} with {others}")


def outputs(launcher: str, program: str) -> Run:
    """What a program of chapter 10 printed in each of two processes."""
    found = recorded()["programs"][launcher][program]
    return Run(found["outputs"], [0] * len(found["outputs"]), found["seconds"])


def table() -> Table:
    """Seconds of every program under every launcher; "differs" where what was
    printed is not what `minipod run` printed."""
    programs = recorded()["programs"]
    ours = programs["minipod run"]
    rows = []
    for launcher, found in programs.items():
        same = (found[p]["outputs"] == ours[p]["outputs"] for p in ours)
        said = (
            f"{found[p]['seconds']:.1f}" if alike else "differs"
            for p, alike in zip(ours, same, strict=True)
        )
        rows.append((launcher, *said))
    return Table(("launcher", *ours), tuple(rows))


def assumed(command: str) -> None:
    """Print, for each process, where it was, how many GPUs it saw, and for
    which of these JAX asks."""
    print(command)
    for p in recorded()["assumed"][command]:
        sees = len(p["variables"]["CUDA_VISIBLE_DEVICES"].split(","))
        ids = p.get("local_device_ids")
        takes = (
            ",".join(map(str, ids)) if ids else p["jax_cuda_visible_devices"]
        )
        who = f"process {p['process_id']} of {p['num_processes']}"
        gpus = "one GPU" if sees == 1 else f"{sees} GPUs"
        print(f"  {who} on {p['host']} sees {gpus}, asks for number {takes}")


def fault(name: str, lines: int = 4) -> None:
    """Print a command that went wrong, the first lines of what was said, and
    how it ended; of XLA's log lines only the last words are kept."""
    found = recorded()["faults"][name]
    print("$", found["command"].replace("--kill-on-bad-exit=1", "-K1"))
    said = (STATUS.sub(r"\1 … \2", line) for line in found["said"])
    kept = dict.fromkeys(line for line in said if not NOISE.search(line))
    for line in list(kept)[:lines]:
        line = shorten(line, 3 * WIDTH, placeholder=" …")
        print(fill(line, WIDTH, subsequent_indent="    "))
    print(f"exit status {found['code']}, after {found['seconds']:.0f} s")


def tries(name: str) -> None:
    """Print how often each outcome was seen, where that is left to chance."""
    found = recorded()["faults"][name]
    if "tries" not in found:
        return fault(name)
    print("$", found["command"].replace("--kill-on-bad-exit=1", "-K1"))
    for outcome, times in found["tries"].items():
        print(f"{outcome}: {times} of {sum(found['tries'].values())} times")


def _failing() -> tuple[dict[str, dict[str, str]], dict[str, Any]]:
    """When each launcher was recorded; {launcher: {way: what was seen}}."""
    found = json.loads(FILE.with_name("failing.json").read_text("utf-8"))
    return found.pop("recorded"), found


def failing() -> Table:
    """Of every way to fail under every launcher the seconds until all have
    ended (the most of several tries), and the status that a script sees."""
    _, found = _failing()
    rows = []
    for way in WAYS:
        cells = []
        for ways in found.values():
            status = "/".join(map(str, sorted(set(ways[way]["status"]))))
            cells.append(f"{max(ways[way]['seconds']):.0f} s, {status}")
        rows.append((way, *cells))
    return Table(("", *found), tuple(rows))


def reasons() -> None:
    """Print in how many of these tries the log says why."""
    when, found = _failing()
    named = tries = 0
    for ways in found.values():
        for way, one in ways.items():
            if WAYS[way]:
                named += one["reasons"]
                tries += len(one["seconds"])
    dates: dict[str, list[str]] = {}
    for name, one in when.items():
        date = f"recorded on {one['date']} with JAX {one['JAX']}"
        dates.setdefault(date, []).append(name)
    for date, names in sorted(dates.items()):
        print(f"{date}: {', '.join(names)}")
    print(f"why it failed is in the log: {named} of {tries} times")


def slurm_ends() -> None:
    """Print what became of a job for each thing that only Slurm does to it."""
    text = FILE.with_name("slurm_ends.json").read_text("utf-8")
    found = json.loads(text)
    when = found.pop("recorded")
    print(f"recorded on {when['date']} with Slurm {when['Slurm']}")
    for way, tries in found.items():
        states = {f"{one['state']}, status {one['status']}" for one in tries}
        reasons = sum(one["reason"] for one in tries)
        said = f"{' or '.join(sorted(states))}; reason logged"
        said += f" {reasons} of {len(tries)} times"
        after = f", over in {max(one['seconds'] for one in tries):.0f} s"
        print(f"{way}: {said}{after if way in ENDED else ''}")
