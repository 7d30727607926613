"""What JAX compiles, `minipod plan` plans: programs as people write them, each with something special, in `foreign/`.

`foreign/direct.json` says what came of each in JAX's own ahead-of-time way. With other versions than
those in it, `foreign/direct.py` compiles the program anew.
"""

import json
import os
import subprocess
import sys
from importlib import metadata, util
from pathlib import Path
from typing import Any

import pytest

from minipod.pods import compiler

ROOT = Path(__file__).parents[3]
FOREIGN = Path(__file__).parent / "foreign"
RECORDED = json.loads((FOREIGN / "direct.json").read_text())
PROGRAMS = [*RECORDED["programs"]]
LIBRARIES = ("flax", "equinox", "optax")  # of third_party.py
# What the first way of `minipod plan` did not get through, each for a reason of its own.
QUICK = ("plain.py:refs_as_arguments", "plain.py:compiled_inside", "plain.py:argument_too_large")
needs_libtpu = pytest.mark.skipif(bool(compiler.missing("tpu")), reason="libtpu and flatbuffers are not installed")


@needs_libtpu
@pytest.mark.parametrize("program", [pytest.param(p, marks=[pytest.mark.long] * (p not in QUICK)) for p in PROGRAMS])
def test_what_jax_compiles_is_planned(program, tmp_path):
    wanted = of_jax(program)
    done = planned(program, tmp_path)
    said = done.stdout + done.stderr
    assert "Traceback" not in said
    if done.returncode:
        assert done.returncode == 2 and done.stderr.startswith("minipod: ") and done.stderr.count("\n") == 1
        assert not done.stdout and not done.stderr.rstrip().endswith(":")
    if wanted["ok"]:
        assert done.returncode == 0, done.stderr
        plan = json.loads(done.stdout)
        assert plan["fits"] is True and plan["memory"]["arguments"] == wanted["memory"]["argument"]
    elif "HbmOom" in wanted["error"]:
        assert done.returncode == 0 and json.loads(done.stdout)["fits"] is False
    elif "[space=vmem" in wanted["error"] or "vmem" in wanted["error"].lower():
        # a kernel's fast memory: nothing that a larger chip or other axes would mend
        assert "vmem" in said.lower() and (done.returncode or json.loads(done.stdout)["fits"] is not False)


@pytest.mark.long
@needs_libtpu
def test_what_is_recorded_is_what_jax_does():
    """All programs of the folder, and nothing else, are in the record."""
    if not same_versions(*LIBRARIES):
        pytest.skip(f"recorded with {RECORDED['versions']}")
    assert directly() == RECORDED["programs"]


def directly(*programs: str) -> dict[str, dict[str, Any]]:
    command = [sys.executable, FOREIGN / "direct.py", *programs]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {row.pop("name"): row for row in rows}


def planned(program: str, cache: Path) -> "subprocess.CompletedProcess[str]":
    """As a reader does it, with nothing kept from another time."""
    places = ["--on", RECORDED["on"], "--mesh", RECORDED["mesh"]]
    command = [sys.executable, "-m", "minipod", "plan", f"{FOREIGN}/{program}", *places, "--json"]
    env = {k: v for k, v in os.environ.items() if k not in ("XLA_FLAGS", "JAX_NUM_CPU_DEVICES")}
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [env.get("PYTHONPATH")])])
    env["XDG_CACHE_HOME"] = str(cache)
    return subprocess.run(command, capture_output=True, text=True, timeout=600, env=env)


def of_jax(program: str) -> dict[str, Any]:
    """What JAX's own way makes of it: recorded with these versions, or compiled now. Skips without its libraries."""
    needs = LIBRARIES if program.startswith("third_party.py") else ()
    if any(util.find_spec(name) is None for name in needs):
        pytest.skip("not installed: pip install flax equinox optax")
    return (RECORDED["programs"] if same_versions(*needs) else directly(program))[program]


def same_versions(*libraries: str) -> bool:
    """Whether JAX, libtpu and these are the versions of the record."""
    try:
        return all(metadata.version(name) == RECORDED["versions"][name] for name in ("jax", "libtpu", *libraries))
    except metadata.PackageNotFoundError:
        return False
