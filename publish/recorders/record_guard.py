"""Record what a watched call costs in 2 to 16 processes of one device each: guard_costs.json, in two minutes;
nothing else should run."""

import os
import re

from minipod import cluster
from publish.recorders import LESSONS, save, today, versions

HERE = LESSONS / "ch12_pitfalls"


def cost(processes: int) -> dict[str, float]:
    """Return the milliseconds of a sum, plain and watched: medians of fifty."""
    done = cluster.run(HERE / "guard_cost.py", processes=processes, devices=1, limit=300.0)
    plain, watched = map(float, re.findall(r"([\d.]+) ms", done.outputs[0]))
    return {"processes": processes, "plain": plain, "watched": watched}


if __name__ == "__main__":
    costs = [cost(processes) for processes in (2, 4, 8, 16)]
    save(HERE / "guard_costs.json", versions("jax") | {"date": today(), "cores": os.cpu_count(), "costs": costs})
