"""What JAX compiles, `minipod plan` plans: programs as people write them, each with something special, in `foreign/`.

`foreign/direct.json` says what came of each in JAX's own ahead-of-time way. With other versions than
those in it, `foreign/direct.py` compiles the program anew.
"""

import ast
import functools
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
SPEC = util.spec_from_file_location("direct", FOREIGN / "direct.py")
assert SPEC is not None and SPEC.loader is not None
direct = util.module_from_spec(SPEC)
SPEC.loader.exec_module(direct)
RECORDED = json.loads(direct.RECORD.read_text())
PROGRAMS = direct.programs()
# One of each file, and those that the first way of `minipod plan` did not get through, each for a reason of its own.
QUICK = {
    *("attention.py:splash", "callbacks.py:debug_print", "callbacks.py:compiler_options", "control.py:cond"),
    *("dtypes.py:int4", "kernels.py:remote_copy", "kernels.py:too_little_vmem", "leaves.py:keywords"),
    *("layers.py:no_kernel", "leaves.py:refs_as_arguments", "leaves.py:static_string", "linalg.py:cholesky"),
    "loops.py:generated",
    *("memories.py:argument_too_large", "memories.py:format_of_an_argument", "memories.py:pinned_state"),
    *("meshes.py:compiled_inside", "meshes.py:key_after_set_mesh", "third_party.py:nnx_jit", "wide.py:scanned"),
}
needs_libtpu = pytest.mark.skipif(
    bool(compiler.missing("tpu")),
    reason="libtpu and flatbuffers are not installed: pip install libtpu flatbuffers (214 MB)",
)


def test_each_program_is_recorded():
    assert [*RECORDED["programs"]] == PROGRAMS and set(PROGRAMS) >= QUICK
    assert (RECORDED["on"], RECORDED["mesh"]) == (direct.ON, direct.MESH)


def test_each_program_says_what_is_special():
    for file in FOREIGN.glob("*.py"):
        for function in (node for node in ast.parse(file.read_text()).body if isinstance(node, ast.FunctionDef)):
            assert function.name not in direct.names(file) or ast.get_docstring(function), f"{file}: {function.name}"


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
    elif (
        "vmem" in wanted["error"].lower()
    ):  # a kernel's fast memory: nothing that a larger chip or other axes would mend
        assert "vmem" in said.lower()
        assert done.returncode or json.loads(done.stdout)["fits"] is not False


@pytest.mark.long
@needs_libtpu
@pytest.mark.skipif(not all(map(util.find_spec, ("flax", "equinox", "haiku", "optax"))), reason="no such libraries")
@pytest.mark.parametrize("file", sorted({program.partition(":")[0] for program in PROGRAMS}))
def test_what_is_recorded_is_what_jax_does(file):
    of_file = [program for program in PROGRAMS if program.partition(":")[0] == file]
    if any(not same_versions(program) for program in of_file):
        pytest.skip(f"recorded with {RECORDED['versions']}")
    for row in direct.results([f"{FOREIGN}/{program}" for program in of_file]):
        recorded = RECORDED["programs"][row["name"]]
        assert [row["ok"], row.get("memory")] == [recorded["ok"], recorded.get("memory")], row


def planned(program: str, cache: Path) -> "subprocess.CompletedProcess[str]":
    """As a reader does it, with nothing kept from another time."""
    places = ["--on", direct.ON, "--mesh", direct.MESH]
    command = [sys.executable, "-m", "minipod", "plan", f"{FOREIGN}/{program}", *places, "--json"]
    env = {k: v for k, v in os.environ.items() if k not in ("XLA_FLAGS", "JAX_NUM_CPU_DEVICES")}
    env |= {"PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(cache)}
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=env)


def of_jax(program: str) -> dict[str, Any]:
    """What JAX's own way makes of it: recorded with these versions, or compiled now. Skips without its libraries."""
    lacking = [name for name in libraries(program) if util.find_spec(name) is None]
    if lacking:
        pytest.skip(f"{' and '.join(lacking)} not installed: pip install flax equinox dm-haiku optax")
    if same_versions(program):
        return RECORDED["programs"][program]
    return next(direct.results([f"{FOREIGN}/{program}"]))


def libraries(program: str) -> list[str]:
    """What a program imports by itself, of that which need not be installed."""
    file, _, name = program.partition(":")
    asked = [tree for tree in parsed(file) if isinstance(tree, ast.FunctionDef) and tree.name == name]
    found = []
    for node in (node for tree in asked for node in ast.walk(tree)):
        if isinstance(node, ast.Import):
            found += [alias.name.partition(".")[0] for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append((node.module or "").partition(".")[0])
    return sorted({name for name in found if name != "jax"})


@functools.cache
def parsed(file: str) -> list[ast.stmt]:
    return ast.parse((FOREIGN / file).read_text()).body


def same_versions(program: str) -> bool:
    """Whether JAX, libtpu and the program's libraries are those of the record."""
    packages = ["jax", "libtpu", *("dm-haiku" if name == "haiku" else name for name in libraries(program))]
    try:
        return all(metadata.version(package) == RECORDED["versions"][package] for package in packages)
    except metadata.PackageNotFoundError:
        return False


FETCHED = json.loads((FOREIGN / "fetched.json").read_text())["programs"]


def test_of_programs_that_were_fetched_what_jax_compiled_was_planned():
    """Of other people's repositories, which are not here: recorded. The others ended in a sentence each."""
    for program, row in FETCHED.items():
        direct, plan = row.get("direct", {}), row["plan"]
        if direct.get("ok"):
            assert plan.get("fits") is True and plan["arguments"] == direct["arguments"], program
        elif "HbmOom" in direct.get("error", ""):
            assert plan["fits"] is False and plan["bound"] is None, program
        else:
            assert plan.get("fits") is True or plan["said"].strip(), program
