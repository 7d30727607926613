"""Record chapter 23's programs in PyTorch: ddp.json and start.npz.

Run it in the book's environment, with torchrun from a different one on PATH (`pip install torch numpy`).
"""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from publish.recorders import LESSONS, save, today

HERE = LESSONS / "ch23_from_pytorch"
TEXT = LESSONS / "ch09_training/text.txt"
RUNS = {  # of ddp.py: a name, and its options
    "f32": [],
    "f64": ["--f64"],
    "bf16": ["--bf16"],
    "stopped": ["--stop", "20"],
    "resumed": ["--resume"],
    "sharded": ["--f64", "--shard"],
}


def torchrun(program: str, *options: str, processes: int = 2) -> str:
    """Return what a program prints under torchrun."""
    command = ["torchrun", "--standalone", f"--nproc-per-node={processes}", str(HERE / program), *options]
    env = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    env.pop("PYTHONPATH", None)
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{program}: {done.stderr}")
    lines = done.stdout.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("[Gloo]"))


def record() -> dict[str, Any]:
    """Return what ddp.py prints, its losses and the order of its rows; write start.npz, too."""
    with tempfile.TemporaryDirectory() as folder:

        def written(name: str) -> Any:
            return json.loads(Path(folder, f"{name}.json").read_text("utf-8"))

        printed, ranks = {}, {}
        for name, options in RUNS.items():
            printed[name] = torchrun("ddp.py", "--text", str(TEXT), "--out", folder, *options)
            ranks[name] = [written("rank0"), written("rank1")]
            if name == "f32":
                shutil.copy(Path(folder, "start.npz"), HERE)
        torchrun("sums_torch.py", folder)
        torchrun("defaults_torch.py", folder, processes=1)
        return {
            "date": today(),
            "versions": {"torch": ranks["f32"][0]["torch"]},
            "printed": printed,
            "losses": {name: first["losses"] for name, (first, _) in ranks.items()},
            "held": {name: first["held"] for name, (first, _) in ranks.items()},
            "order": [rank["order"] for rank in ranks["f32"]],
            "sums": [written("sums0"), written("sums1")],
            "defaults": written("defaults"),
        }


if __name__ == "__main__":
    save(HERE / "ddp.json", record(), indent=None)
