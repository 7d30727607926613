"""Record what those programs of chapter 14 print that need more than this book installs: neighbours.json.

It needs an environment with `.[neighbours]` (flax, dm-haiku) and mpi4jax, and Open MPI's mpirun.
"""

import os
import subprocess
import sys
from typing import Any

from minipod.cluster import run
from publish.recorders import LESSONS, save, today, versions

HERE = LESSONS / "ch14_launching"
STEPS = ("step_plain.py", "step_nnx.py", "step_haiku.py")
MPIRUN = "mpirun -n 2 --allow-run-as-root --oversubscribe --tag-output --timeout 100".split()


def by_mpirun(program: str) -> list[str]:
    """Return what each of two processes prints if Open MPI's mpirun starts them."""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"} | {"JAX_PLATFORMS": "cpu"}
    command = ["timeout", "-k", "5", "120", *MPIRUN, sys.executable, str(HERE / program)]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"mpirun ended with {done.returncode}: {done.stderr}")
    lines = done.stdout.splitlines(keepends=True)
    tags = [f"[1,{i}]<stdout>:" for i in (0, 1)]
    return ["".join(line.removeprefix(tag) for line in lines if line.startswith(tag)) for tag in tags]


def record() -> dict[str, Any]:
    """Return the versions, the date, and what every program printed, by process."""
    mpirun = subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout
    printed = {name: run(str(HERE / name), processes=2, devices=4, limit=120).outputs for name in STEPS}
    return {
        "date": today(),
        "versions": versions("jax", "flax", "dm-haiku", "mpi4jax", "mpi4py")
        | {"Open MPI": mpirun.partition("\n")[0].split()[-1]},
        "printed": printed | {"sum_mpi.py": by_mpirun("sum_mpi.py")},
    }


if __name__ == "__main__":
    save(HERE / "neighbours.json", record())
