"""Plan two decoders of github.com/jax-ml/jax-llm-examples, as they stand there.

PYTHONPATH=COPY/llama3:COPY/qwen3:. python lessons/ch20_serving/record_theirs.py
in an environment that has libtpu and tqdm; COPY is a copy of their repository.
Writes theirs.json.
"""

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
# What the page and its exercise plan: the slice and the mesh of each.
PROGRAMS = {
    "theirs_plan.py": ("v5e:4x4", "x=1,y=8,z=2"),
    "qwen_plan.py": ("v5e:2x4", "x=1,y=8,z=1"),
}


def planned(program: str, on: str, mesh: str) -> dict[str, object]:
    """What `minipod plan --json` prints."""
    command = [sys.executable, "-m", "minipod", "plan", "--json", "--again"]
    command += [f"{HERE / program}:program", "--on", on, "--mesh", mesh]
    command += ["--explicit", "--limit", "900"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{program}: {done.stderr}")
    return json.loads(done.stdout)


if __name__ == "__main__":
    versions = {name: version(name) for name in ("jax", "libtpu")}
    plans = {p: planned(p, *where) for p, where in PROGRAMS.items()}
    text = json.dumps({"versions": versions, "plans": plans}, indent=1)
    (HERE / "theirs.json").write_text(text + "\n")
