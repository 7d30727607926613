"""Run what needs more than this book installs, and note what it printed.

python lessons/ch14_launching/record_neighbours.py, in an environment that has
`.[neighbours]` (flax, dm-haiku, mpi4jax) and with Open MPI's mpirun. Writes
neighbours.json; a long test does the same and compares.
"""

import json
import os
import subprocess
import sys
from datetime import date
from importlib.metadata import version
from pathlib import Path

from minipod.cluster import run

HERE = Path(__file__).parent
PACKAGES = ("jax", "flax", "dm-haiku", "mpi4jax", "mpi4py")
STEPS = ("step_plain.py", "step_nnx.py", "step_haiku.py")
MPIRUN = [
    *("mpirun", "-n", "2", "--allow-run-as-root", "--oversubscribe"),
    *("--tag-output", "--timeout", "100"),
]


def by_minipod(program: str) -> list[str]:
    """What each of two processes with four devices prints."""
    done = run(str(HERE / program), processes=2, devices=4, limit=120)
    return done.outputs


def by_mpirun(program: str) -> list[str]:
    """What each of two processes prints, started by Open MPI's mpirun."""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    env |= {"JAX_PLATFORMS": "cpu"}
    command = [*MPIRUN, sys.executable, str(HERE / program)]
    command = ["timeout", "-k", "5", "120", *command]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"mpirun ended with {done.returncode}: {done.stderr}")
    outputs = ["", ""]
    for line in done.stdout.splitlines(keepends=True):
        for i in (0, 1):
            tag = f"[1,{i}]<stdout>:"
            if line.startswith(tag):
                outputs[i] += line.removeprefix(tag)
    return outputs


def record() -> dict[str, object]:
    """Versions, the date, and what every program printed, by process."""
    said = subprocess.run(
        ["mpirun", "--version"], capture_output=True, text=True
    )
    versions = {name: version(name) for name in PACKAGES}
    versions["Open MPI"] = said.stdout.split("\n")[0].split()[-1]
    printed = {name: by_minipod(name) for name in STEPS}
    printed["sum_mpi.py"] = by_mpirun("sum_mpi.py")
    return {
        "date": date.today().isoformat(),
        "versions": versions,
        "printed": printed,
    }


if __name__ == "__main__":
    text = json.dumps(record(), indent=1, ensure_ascii=False)
    (HERE / "neighbours.json").write_text(text + "\n")
