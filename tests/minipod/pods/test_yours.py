"""Chapter 15's programs of other people's libraries: planned where these are, and as they were recorded."""

import json
import os
import subprocess
import sys
from importlib import metadata, util
from pathlib import Path

import pytest

from minipod.pods import compiler

LESSON = Path(__file__).parents[3] / "lessons/ch15_pods"
RECORD = json.loads((LESSON / "yours.json").read_text("utf-8"))
SPEC = util.spec_from_file_location("record_yours", LESSON / "record_yours.py")
assert SPEC is not None and SPEC.loader is not None
record_yours = util.module_from_spec(SPEC)
SPEC.loader.exec_module(record_yours)

F32, ROWS = 4, 2**14
# Bytes of a device's arguments, by hand: a row of the mesh has a quarter of the batch, a column a quarter of weights.
BATCH = ROWS * 4096 * F32 // 4
ARGUMENTS = {
    "plain_plan.py": 2 * 4096 * 16384 * F32 // 4 + BATCH,
    "nnx_plan.py": 3 * 4096 * 4096 * F32 // 4 + BATCH,  # weights and both moments; and 4096 biases, undivided
    "equinox_plan.py": 3 * 2 * 4096 * 16384 * F32 // 4 + BATCH,
    "maxtext_plan.py": 3 * 6_738_415_616 * F32 // 16,  # Llama 2 7B, weights and both moments over 16 chips
}
NEEDS = {"nnx_plan.py": ("flax", "optax"), "equinox_plan.py": ("equinox", "optax"), "maxtext_plan.py": ("maxtext",)}


def test_each_program_is_recorded_with_the_versions_it_ran_on():
    assert [*RECORD] == [*record_yours.PROGRAMS] == [*ARGUMENTS]
    for program, (library, _) in record_yours.PROGRAMS.items():
        assert {library, "jax", "libtpu"} == {*RECORD[program]["versions"]}


def test_the_recorded_plans_hold_what_they_hold_by_hand():
    for program, held in ARGUMENTS.items():
        plan = RECORD[program]["plan"]
        assert plan["fits"] and held <= plan["memory"]["arguments"] < 1.001 * held, program


@pytest.mark.skipif(bool(compiler.missing("tpu")), reason="libtpu and flatbuffers are not installed")
@pytest.mark.long
@pytest.mark.parametrize("program", ARGUMENTS)
def test_where_its_library_is_a_program_is_planned_as_recorded(program, tmp_path, monkeypatch):
    lacking = [name for name in NEEDS.get(program, ()) if util.find_spec(name) is None]
    if lacking:
        pytest.skip(f"{' and '.join(lacking)} not installed")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    plan, recorded = record_yours.planned(program), RECORD[program]
    assert plan["memory"]["arguments"] == recorded["plan"]["memory"]["arguments"]
    if all(metadata.version(name) == number for name, number in recorded["versions"].items()):
        assert plan == recorded["plan"]


@pytest.mark.long
@pytest.mark.skipif(bool(compiler.missing("tpu")), reason="libtpu and flatbuffers are not installed")
def test_a_description_in_filter_jit_is_a_constant_as_the_page_says(tmp_path):
    """Why the Equinox program has a jax.jit: without it Equinox itself does not lower the step."""
    pytest.importorskip("equinox")
    text = (LESSON / "equinox_plan.py").read_text("utf-8")
    (tmp_path / "as_it_is.py").write_text(
        text.replace("jax.jit(arrays, donate_argnums=0), (held, x)", "step, (*eqx.combine(held, rest), x)"), "utf-8"
    )
    command = [sys.executable, "-m", "minipod", "plan", str(tmp_path / "as_it_is.py:program"), "--on", "v5e-16"]
    env = os.environ | {"PYTHONPATH": str(LESSON.parents[1]), "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run([*command, "--mesh", record_yours.MESH], env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 2 and "'ShapeDtypeStruct'" in done.stderr and done.stderr.count("\n") == 1
