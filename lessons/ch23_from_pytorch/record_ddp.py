"""Run the PyTorch programs of this chapter, and note what came of them.

python -m lessons.ch23_from_pytorch.record_ddp, in the book's environment, with
another one's bin/ on PATH: one that has torch (`pip install torch numpy`) and
therefore torchrun. Writes ddp.json and start.npz.
"""

import json
import os
import shutil
import subprocess
import tempfile
from datetime import date
from pathlib import Path

HERE = Path(__file__).parent
TEXT = HERE.parent / "ch09_training/text.txt"
# The runs of ddp.py: a name, and its options.
RUNS = {
    "f32": [],
    "f64": ["--f64"],
    "bf16": ["--bf16"],
    "stopped": ["--stop", "20"],
    "resumed": ["--resume"],
}


def ran(program: str, *options: str, processes: int = 2) -> str:
    """What a program prints under torchrun."""
    number = f"--nproc-per-node={processes}"
    command = ["torchrun", "--standalone", number, str(HERE / program)]
    env = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    env.pop("PYTHONPATH", None)
    done = subprocess.run(
        [*command, *options], env=env, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{program}: {done.stderr}")
    lines = done.stdout.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("[Gloo]"))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:

        def made(name: str) -> dict:
            return json.loads(Path(folder, f"{name}.json").read_text("utf-8"))

        printed, losses = {}, {}
        for name, options in RUNS.items():
            given = ["--text", str(TEXT), "--out", folder, *options]
            printed[name] = ran("ddp.py", *given)
            told = [made(f"rank{i}") for i in (0, 1)]
            losses[name] = told[0]["losses"]
            if name == "f32":
                order = [each["order"] for each in told]
                shutil.copy(Path(folder, "start.npz"), HERE)
        ran("sums_torch.py", folder)
        ran("defaults_torch.py", folder, processes=1)
        found = {
            "date": date.today().isoformat(),
            "versions": {"torch": told[0]["torch"]},
            "printed": printed,
            "losses": losses,
            "order": order,
            "sums": [made(f"sums{i}") for i in (0, 1)],
            "defaults": made("defaults"),
        }
    (HERE / "ddp.json").write_text(json.dumps(found) + "\n", "utf-8")


if __name__ == "__main__":
    main()
