"""Run nnx_twin.py, and note its losses.

python lessons/ch23_from_pytorch/record_nnx.py, in an environment that has
flax, grain and optax. Writes nnx.json.
"""

import json
import os
import subprocess
import sys
import tempfile
from datetime import date
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        env = os.environ | {"PYTHONPATH": str(HERE.parents[1])}
        env |= {"JAX_PLATFORMS": "cpu", "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, str(HERE / "nnx_twin.py"), file.name]
        subprocess.run(command, env=env, check=True)
        told = json.loads(Path(file.name).read_text("utf-8"))
    packages = "jax", "flax", "grain", "optax"
    versions = {name: version(name) for name in packages}
    found = {"date": date.today().isoformat(), "versions": versions} | told
    (HERE / "nnx.json").write_text(json.dumps(found) + "\n", "utf-8")


if __name__ == "__main__":
    main()
