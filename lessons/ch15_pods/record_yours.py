"""Plan the programs of other people's libraries, and note what came of it.

python lessons/ch15_pods/record_yours.py, in an environment that has libtpu,
flax, equinox, optax and maxtext. Writes yours.json; a test plans those whose
libraries are there, and compares.
"""

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
ON, MESH = "v5e-16", "data=4,model=4"
# Who writes the model, and the mesh; MaxText makes its own.
PROGRAMS = {
    "plain_plan.py": ("jax", MESH),
    "nnx_plan.py": ("flax", MESH),
    "equinox_plan.py": ("equinox", MESH),
    "maxtext_plan.py": ("maxtext", None),
}


def planned(program: str, limit: int = 900) -> dict[str, object]:
    """What `minipod plan --json` prints."""
    command = [sys.executable, "-m", "minipod", "plan", "--json", "--again"]
    command += [f"{HERE / program}:program", "--on", ON]
    _, mesh = PROGRAMS[program]
    command += ["--mesh", mesh] if mesh else []
    root = {"PYTHONPATH": str(HERE.parents[1])}
    env = os.environ | root
    done = subprocess.run(
        [*command, "--limit", str(limit)],
        env=env,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{program}: {done.stderr}")
    return json.loads(done.stdout)


def record() -> dict[str, object]:
    """Versions of each, and its plan."""
    made: dict[str, object] = {}
    for program, (library, _) in PROGRAMS.items():
        packages = dict.fromkeys((library, "jax", "libtpu"))
        versions = {name: version(name) for name in packages}
        made[program] = {"versions": versions, "plan": planned(program)}
    return made


if __name__ == "__main__":
    text = json.dumps(record(), indent=1)
    (HERE / "yours.json").write_text(text + "\n")
