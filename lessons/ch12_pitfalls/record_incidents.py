"""Let a process of many go wrong, and keep what all of them leave behind:
`python lessons/ch12_pitfalls/record_incidents.py` (eight minutes).

Writes incidents.json: real runs of incident.py, two devices a process. Of
the stacks, JAX's frames are kept and the launcher's are not.
"""

import json
import os
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from importlib.metadata import version
from pathlib import Path

from minipod import cluster

HERE = Path(__file__).parent
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
MARKS = {  # what the line that is to be found begins with
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


def record(fault: str, process: int, step: int, processes: int) -> dict:
    """The reports of one run, and whom they should lead to."""
    done = cluster.run(
        HERE / "incident.py",
        *(fault, str(process), str(step)),
        processes=processes,
        devices=2,
        limit=LIMIT,
        check=False,
    )
    lines = (HERE / "incident.py").read_text().splitlines()
    mark = MARKS.get(fault)
    line = mark and 1 + [x.strip().startswith(mark) for x in lines].index(True)
    return {
        "fault": fault,
        "process": process if line else None,
        "line": line,
        "reports": [shorter(text) for text in done.outputs],
    }


def shorter(text: str) -> str:
    """Without the launcher's frames, addresses of threads and folders."""
    text = re.sub(r'  File "[^"]*(/minipod/|<frozen)[^\n]*\n', "", text)
    text = re.sub(r"Thread 0x\w+ ", "Thread ", text)
    text = re.sub(r'"[^"]*-packages/', '"', text)
    return re.sub(r'"/[^"]*/(\w+\.py)"', r'"\1"', text)


if __name__ == "__main__":
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda planted: record(*planted), PLANTED))
    recorded = {
        "jax": version("jax"),
        "date": str(date.today()),
        "cores": os.cpu_count(),
        "incidents": found,
    }
    text = json.dumps(recorded, indent=1, ensure_ascii=False)
    (HERE / "incidents.json").write_text(text + "\n")
