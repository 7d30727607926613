"""python apart.py PROGRAM …: run a program and write what it prints to PROCESS.out.

Standard output would mix the lines: Gloo writes into them, piece by piece."""

import os
import runpy
import sys
from pathlib import Path

NUMBERS = (  # a process's number; the innermost launcher first
    "MINIPOD_PROCESS",
    "OMPI_COMM_WORLD_RANK",
    "SLURM_PROCID",
    "TPU_WORKER_ID",
)

if __name__ == "__main__":
    number = next(os.environ[n] for n in NUMBERS if n in os.environ)
    sys.stdout = open(f"{number}.out", "w", buffering=1, encoding="utf-8")
    sys.argv = sys.argv[1:]
    sys.path[0] = str(Path(sys.argv[0]).parent)
    runpy.run_path(sys.argv[0], run_name="__main__")
