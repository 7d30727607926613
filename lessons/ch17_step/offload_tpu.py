"""What a TPU's compiler makes of activations that wait in the host's memory.

Rows of the plans of `one_host` and `eight_host`. They are compiled from their
file: a program that `jax.export` has written cannot name the host's memory.
"""

import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("planned.py")
PLANNED = ("one_host", "v5e:4x4"), ("eight_host", "v5p:2x2x4")
ROWS = "fits", "temporaries", "peak", "host memory", "FLOPs"


def report(ask, version):
    found = [rows(name, on, version) for name, on in PLANNED]
    return "\n".join(found)


def rows(name, on, version):
    where = ["--on", on, "--mesh", "data=16,model=1"]
    command = [sys.executable, "-m", "minipod", "plan", f"{PROGRAM}:{name}"]
    done = subprocess.run(
        [*command, *where], capture_output=True, text=True, check=True
    )
    found = [row for row in done.stdout.splitlines() if row.startswith(ROWS)]
    return "\n".join([f"{name} on {on}, libtpu {version}", *found])
