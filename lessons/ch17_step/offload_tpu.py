"""What a TPU's compiler makes of activations that wait in the host's memory.

Rows of the plan of `one_host`. It is compiled from its file: a program that
`jax.export` has written cannot name the host's memory.
"""

import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("planned.py")
ROWS = "fits", "temporaries", "peak", "host memory", "FLOPs"


def report(ask, version):
    where = ["--on", "v5e:4x4", "--mesh", "data=16,model=1"]
    command = [sys.executable, "-m", "minipod", "plan", f"{PROGRAM}:one_host"]
    done = subprocess.run(
        [*command, *where], capture_output=True, text=True, check=True
    )
    rows = [row for row in done.stdout.splitlines() if row.startswith(ROWS)]
    return "\n".join([f"one_host on v5e:4x4, libtpu {version}", *rows])
