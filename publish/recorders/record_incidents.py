"""Record what all processes leave behind when one goes wrong, for chapter 12: incidents.json, in eight minutes."""

import os
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from minipod import cluster
from publish.recorders import LESSONS, save, today, versions

HERE = LESSONS / "ch12_pitfalls"
LIMIT = 60.0  # seconds for the start, the hang and the stacks
PLANTED = (  # fault, process, step, of how many processes
    ("best", 2, 4, 4),
    ("disk", 3, 5, 4),
    ("stall", 1, 3, 4),
    ("swap", 3, 3, 5),
    ("broken", 5, 4, 8),
    ("log", 0, 5, 6),
    ("best", 1, 6, 8),
    ("disk", 6, 4, 8),
    ("retry", 1, 6, 5),
    ("lock", 4, 3, 6),
    ("stall", 2, 4, 6),
    ("thrift", 4, 3, 5),
    ("broken", 1, 2, 4),
    ("thrift", 0, 5, 4),
    ("save", 2, 4, 5),
)
MARKS = {  # how the line begins that is to be found
    "best": 'ask(f"copy',
    "swap": 'ask(f"norm',
    "broken": 'loss = ask(f"loss',
    "log": 'ask(f"mean',
    "thrift": 'loss = ask(f"loss',
    "disk": "if (rows := read",
    "retry": "if (rows := read",
    "lock": "if (rows := read",
    "save": "wait_for_disk",
}


def incidents() -> dict[str, Any]:
    """Return records of real runs of incident.py, with two devices per process."""
    with ThreadPoolExecutor(2) as pool:
        recorded = list(pool.map(lambda planted: record(*planted), PLANTED))
    return versions("jax") | {"date": today(), "cores": os.cpu_count(), "incidents": recorded}


def record(fault: str, process: int, step: int, processes: int) -> dict[str, Any]:
    """Return the reports of one run, and the process and the line to which they should lead."""
    program = HERE / "incident.py"
    arguments = fault, str(process), str(step)
    done = cluster.run(program, *arguments, processes=processes, devices=2, limit=LIMIT, check=False)
    mark, line = MARKS.get(fault), None
    if mark:
        lines = program.read_text().splitlines()
        line = next(number for number, text in enumerate(lines, 1) if text.strip().startswith(mark))
    return {
        "fault": fault,
        "process": process if line else None,
        "line": line,
        "reports": [shorter(text) for text in done.outputs],
    }


def shorter(text: str) -> str:
    """Remove the launcher's frames, addresses of threads and folders from a text; JAX's frames stay."""
    text = re.sub(r'  File "[^"]*(/minipod/|<frozen)[^\n]*\n', "", text)
    text = re.sub(r"Thread 0x\w+ ", "Thread ", text)
    text = re.sub(r'"[^"]*-packages/', '"', text)
    return re.sub(r'"/[^"]*/(\w+\.py)"', r'"\1"', text)


if __name__ == "__main__":
    save(HERE / "incidents.json", incidents())
