"""Record plans of programs that other people wrote, or that use their libraries.

record_others.py yours    ch15_pods/yours.json, in an environment with libtpu, flax, equinox, optax and maxtext
record_others.py theirs   ch20_serving/theirs.json, two decoders of github.com/jax-ml/jax-llm-examples: with libtpu and
                          tqdm, and PYTHONPATH=COPY/llama3:COPY/qwen3, where COPY is a copy of their repository

A test plans those programs again whose libraries are installed, and compares.
"""

import json
import os
import subprocess
import sys
from typing import Any, NamedTuple

from publish.recorders import LESSONS, ROOT, save, versions


class Program(NamedTuple):
    """A file in a chapter's folder, and how it is planned."""

    library: str  # who writes the model
    on: str  # the slice
    options: tuple[str, ...] = ()


MESH = "data=4,model=4"
DATA_AND_MODEL = ("--mesh", MESH)
YOURS = {
    "ch15_pods/plain_plan.py": Program("jax", "v5e-16", DATA_AND_MODEL),
    "ch15_pods/nnx_plan.py": Program("flax", "v5e-16", DATA_AND_MODEL),
    "ch15_pods/equinox_plan.py": Program("equinox", "v5e-16", DATA_AND_MODEL),
    "ch15_pods/maxtext_plan.py": Program("maxtext", "v5e-16"),  # makes its own mesh
}
THEIRS = {
    "ch20_serving/theirs_plan.py": Program("llama3_jax", "v5e:4x4", ("--mesh", "x=1,y=8,z=2", "--explicit")),
    "ch20_serving/qwen_plan.py": Program("qwen3_jax", "v5e:2x4", ("--mesh", "x=1,y=8,z=1", "--explicit")),
}


def planned(file: str) -> dict[str, Any]:
    """Return what `minipod plan --json` prints for one of these files."""
    program = (YOURS | THEIRS)[file]
    command = [sys.executable, "-m", "minipod", "plan", "--json", "--again", "--limit", "900"]
    command += [f"{LESSONS / file}:program", "--on", program.on, *program.options]
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{file}: {done.stderr}")
    return json.loads(done.stdout)


def yours() -> dict[str, Any]:
    """Return for each program its plan, and the versions of the packages that it uses."""
    return {
        file.rpartition("/")[2]: {
            "versions": versions(*dict.fromkeys((program.library, "jax", "libtpu"))),
            "plan": planned(file),
        }
        for file, program in YOURS.items()
    }


def theirs() -> dict[str, Any]:
    plans = {file.rpartition("/")[2]: planned(file) for file in THEIRS}
    return {"versions": versions("jax", "libtpu"), "plans": plans}


if __name__ == "__main__":
    if sys.argv[1:] == ["theirs"]:
        save(LESSONS / "ch20_serving/theirs.json", theirs())
    else:
        save(LESSONS / "ch15_pods/yours.json", yours())
