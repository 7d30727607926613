"""What processes left behind, as data: incidents, stacks, costs, recorded or
printed by a run."""

import json
import re
from dataclasses import replace
from pathlib import Path

from minipod.cluster import Run
from minipod.tables import Table

HERE = Path(__file__).parent


def incidents() -> list[dict]:
    """All that are recorded: fault, process, line, and reports, a text for each
    process (record_incidents.py). process and line are None where no line of
    the program is to blame."""
    return json.loads((HERE / "incidents.json").read_text())["incidents"]


def numbered(program: str, first: int, last: int) -> str:
    """Some lines of a program of this chapter, each with its number."""
    lines = (HERE / program).read_text().splitlines()
    some = range(first, last + 1)
    return "\n".join(f"{n:3} {lines[n - 1]}".rstrip() for n in some)


def calls(report: str) -> list[tuple[str, int]]:
    """(name, line) of all that the process asked for, in its order."""
    found = re.findall(r"^line (\d+): (.+)$", report, re.M)
    return [(name, int(line)) for line, name in found]


def stack(report: str) -> list[tuple[str, int, str]]:
    """(file, line, function) of its main thread, innermost first."""
    main = report.rpartition("Thread ")[2]
    found = re.findall(r'File "(.+)", line (\d+) in (.+)', main)
    return [(file, int(line), function) for file, line, function in found]


def own_frames(done: Run) -> Run:
    """The run, its printed stacks without the frames of libraries."""
    frame = r'  File "[^"]*(-packages/|/minipod/|<frozen)[^\n]*\n'
    texts = [re.sub(frame, "", text) for text in done.outputs]
    short = [re.sub(r"Thread 0x\w+ ", "Thread ", text) for text in texts]
    return replace(done, outputs=short)


def guard_costs() -> Table:
    """What a watched call costs, in milliseconds (record_guard.py)."""
    recorded = json.loads((HERE / "guard_costs.json").read_text())
    rows = tuple(
        (
            str(cost["processes"]),
            f"{cost['plain']:.0f}",
            f"{cost['watched']:.0f}",
        )
        for cost in recorded["costs"]
    )
    return Table(("processes", "a sum, ms", "watched, ms"), rows, left=())


def py_spy() -> str:
    """What py-spy said of a process that hangs (record_py_spy.py)."""
    return (HERE / "py_spy.txt").read_text().rstrip()
