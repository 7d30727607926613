"""What a watched call costs in 2 to 16 processes of one device each:
`python lessons/ch12_pitfalls/record_guard.py` (two minutes; nothing else
should run). Writes guard_costs.json."""

import json
import os
import re
from datetime import date
from importlib.metadata import version
from pathlib import Path

from minipod import cluster

HERE = Path(__file__).parent
PROCESSES = (2, 4, 8, 16)


def record(processes: int) -> dict[str, float]:
    """Milliseconds of a sum, plain and watched: medians of fifty."""
    done = cluster.run(
        HERE / "guard_cost.py", processes=processes, devices=1, limit=300.0
    )
    plain, watched = map(float, re.findall(r"([\d.]+) ms", done.outputs[0]))
    return {"processes": processes, "plain": plain, "watched": watched}


if __name__ == "__main__":
    recorded = {
        "jax": version("jax"),
        "date": str(date.today()),
        "cores": os.cpu_count(),
        "costs": [record(processes) for processes in PROCESSES],
    }
    text = json.dumps(recorded, indent=1, ensure_ascii=False)
    (HERE / "guard_costs.json").write_text(text + "\n")
