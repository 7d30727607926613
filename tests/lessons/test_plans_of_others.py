"""The plans that chapters 9, 15 and 20 show: as recorded, and made anew where the libraries of their programs are."""

import json
import os
import subprocess
import sys
from importlib import metadata, util

import pytest

from minipod.pods import compiler
from minipod.pods import recorded as recorded_plans
from publish.recorders import LESSONS, record_others

needs_libtpu = pytest.mark.skipif(bool(compiler.missing("tpu")), reason="libtpu and flatbuffers are not installed")
YOURS = json.loads((LESSONS / "ch15_pods/yours.json").read_text("utf-8"))
THEIRS = json.loads((LESSONS / "ch20_serving/theirs.json").read_text("utf-8"))
PUBLISHED = json.loads((LESSONS / "ch15_pods/published.json").read_text("utf-8"))["rows"].values()

F32, ROWS = 4, 2**14
# Bytes of a device's arguments, by hand: a row of the mesh has a quarter of the batch, a column a quarter of weights.
BATCH = ROWS * 4096 * F32 // 4
ARGUMENTS = {
    "plain_plan.py": 2 * 4096 * 16384 * F32 // 4 + BATCH,
    "nnx_plan.py": 3 * 4096 * 4096 * F32 // 4 + BATCH,  # weights and both moments; and 4096 biases, undivided
    "equinox_plan.py": 3 * 2 * 4096 * 16384 * F32 // 4 + BATCH,
    "maxtext_plan.py": 3 * 6_738_415_616 * F32 // 16,  # Llama 2 7B, weights and both moments over 16 chips
}
LIBRARIES = {
    "nnx_plan.py": ("flax", "optax"),
    "equinox_plan.py": ("equinox", "optax"),
    "maxtext_plan.py": ("maxtext",),
    "theirs_plan.py": ("llama3_jax", "tqdm"),
    "qwen_plan.py": ("qwen3_jax", "tqdm"),
}


def test_each_program_is_recorded_with_the_versions_it_ran_on_and_its_plan_holds_what_it_holds_by_hand():
    assert [*YOURS] == [file.rpartition("/")[2] for file in record_others.YOURS] == [*ARGUMENTS]
    for program, recorded in zip(record_others.YOURS.values(), YOURS.values(), strict=True):
        assert {program.library, "jax", "libtpu"} == {*recorded["versions"]}
    for program, held in ARGUMENTS.items():
        plan = YOURS[program]["plan"]
        assert plan["fits"] and held <= plan["memory"]["arguments"] < 1.001 * held, program


@pytest.mark.long
@needs_libtpu
def test_a_description_in_filter_jit_is_a_constant_as_the_page_says(tmp_path):
    """Why the Equinox program has a jax.jit: without it Equinox itself does not lower the step."""
    pytest.importorskip("equinox")
    text = (LESSONS / "ch15_pods/equinox_plan.py").read_text("utf-8")
    (tmp_path / "as_it_is.py").write_text(
        text.replace("jax.jit(arrays, donate_argnums=0), (held, x)", "step, (*eqx.combine(held, rest), x)"), "utf-8"
    )
    command = [sys.executable, "-m", "minipod", "plan", str(tmp_path / "as_it_is.py:program"), "--on", "v5e-16"]
    env = os.environ | {"PYTHONPATH": str(LESSONS.parent), "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run(
        [*command, "--mesh", record_others.MESH], env=env, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 2 and "'ShapeDtypeStruct'" in done.stderr and done.stderr.count("\n") == 1


# By hand, int8: q and o, k and v, and three of the feed-forward; then layers, and the chips that share them. The cache
# has 8 sequences of 2,048 positions, 8 heads of 128, K and V, cut over 8 chips by heads.
LAYERS = {
    "theirs_plan.py": 80 * (2 * 8192 * 8192 + 2 * 8192 * 1024 + 3 * 8192 * 28672) // 16,
    "qwen_plan.py": 64 * (2 * 5120 * 8192 + 2 * 5120 * 1024 + 3 * 5120 * 25600) // 8,
}
CACHE = {"theirs_plan.py": 80, "qwen_plan.py": 64}  # layers
BYTES_A_SECOND = 819e9  # of a v5e's memory


@pytest.mark.parametrize("program", CACHE)
def test_a_plan_holds_their_layers_and_reads_them(program):
    plan = THEIRS["plans"][program]
    cache = CACHE[program] * 2 * 8 * 2048 * 8 * 128 // 8
    assert plan["fits"] and plan["bound"] == "memory" and plan["at_least"] == []
    assert cache < plan["memory"]["outputs"] < 1.02 * cache  # int8 and its scales
    assert LAYERS[program] + cache < plan["memory"]["arguments"] < 1.6 * (LAYERS[program] + cache)
    assert (LAYERS[program] + cache) / BYTES_A_SECOND < plan["seconds"]["memory"] < plan["estimate"]


def test_what_its_authors_measured_lies_between_the_longest_and_the_sum():
    plan = THEIRS["plans"]["theirs_plan.py"]
    alike = {"model": "llama3", "batch": 8, "length": 2048, "mesh": [1, 8, 2], "kind": "decode"}
    (row,) = (r for r in PUBLISHED if alike.items() <= r.items())
    assert max(plan["seconds"].values()) < row["published"] < sum(plan["seconds"].values())


@needs_libtpu
@pytest.mark.long
@pytest.mark.parametrize("file", record_others.YOURS | record_others.THEIRS)
def test_where_its_libraries_are_a_program_is_planned_as_recorded(file, tmp_path, monkeypatch):
    program = file.rpartition("/")[2]
    if lacking := [name for name in LIBRARIES.get(program, ()) if util.find_spec(name) is None]:
        pytest.skip(f"{' and '.join(lacking)} not installed, or not on PYTHONPATH")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    recorded = YOURS.get(program) or {"versions": THEIRS["versions"], "plan": THEIRS["plans"][program]}
    plan = record_others.planned(file)
    assert plan["memory"]["arguments"] == recorded["plan"]["memory"]["arguments"]
    if all(metadata.version(name) == number for name, number in recorded["versions"].items()):
        assert plan == recorded["plan"]


def test_fsdp_fits_where_data_parallelism_does_not():
    """Chapter 9: 24 GiB of parameters on eight chips of 16 GiB."""
    (fsdp,) = recorded_plans.plans(LESSONS / "ch09_training", "fsdp", "v5e:2x4", data=8)
    (copies,) = recorded_plans.plans(LESSONS / "ch09_training", "data_parallel", "v5e:2x4", data=8)
    parameters, rows, width, hidden, layers = 24 * 2**30, 128, 8192, 32768, 24
    assert fsdp.fits and fsdp.memory["arguments"] == pytest.approx(parameters / 8, rel=0.01)
    assert fsdp.sent["data"] == 3 * 7 / 8 * parameters  # gathered forward and backward, gradients scattered
    assert sum(fsdp.flops.values()) == 6 * 2 * rows * width * hidden * layers
    assert not copies.fits and copies.bound is None
    assert copies.memory["temporaries"] > copies.memory["limit"] == 15.75 * 2**30
