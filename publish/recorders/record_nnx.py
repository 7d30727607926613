"""Record the losses of chapter 23's program in Flax with Grain: nnx.json. It needs flax, grain and optax."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from publish.recorders import LESSONS, ROOT, save, today, versions

HERE = LESSONS / "ch23_from_pytorch"

if __name__ == "__main__":
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        env = os.environ | {"PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu", "PYTHONDONTWRITEBYTECODE": "1"}
        subprocess.run([sys.executable, str(HERE / "nnx_twin.py"), file.name], env=env, check=True)
        losses = json.loads(Path(file.name).read_text("utf-8"))
    made = {"date": today(), "versions": versions("jax", "flax", "grain", "optax")}
    save(HERE / "nnx.json", made | losses, indent=None)
