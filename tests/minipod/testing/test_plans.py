"""The fixture `plans`, as a stranger uses it: a file of figures is written, held against, changed, damaged."""

import json
from pathlib import Path

import jax.numpy as jnp
import pytest
from strangers_tests import run

from minipod.testing import Plans

MEAN = 'lax.pmean(x, "i")'
TOTAL = """
@pytest.mark.processes(2, devices=2)
def test_total(plans):
    x = rows(8)
    f = jax.shard_map(lambda x: lax.psum(x, "i"), mesh=x.sharding.mesh, in_specs=P("i"), out_specs=P())
    plans.check("total", f, x)
"""


def step(name: str, mean: str = MEAN, columns: int = 16, plan: str = "mean", **options: float) -> str:
    return f"""
@pytest.mark.devices(8)
def test_{name}(plans):
    mesh = jax.make_mesh((8,), ("i",), (jax.sharding.AxisType.Auto,))
    f = jax.shard_map(lambda x: {mean}, mesh=mesh, in_specs=P("i"), out_specs=P())
    plans.check("{plan}", f, jnp.ones((8, {columns})), **{options})
"""


def test_a_file_is_written_then_held_against_and_a_change_is_told_in_figures(tmp_path):
    file, tests = tmp_path / "plans/test_it.json", step("step") + TOTAL
    # of several processes one writes and all compare; figures of another version stay
    other = {"jax 0.4.1, cpu": {"arguments": 64}}
    file.parent.mkdir()
    file.write_text(json.dumps({"mean": other}))
    assert run(tmp_path, tests, "--update-plans")[1] == {"test_step": "PASSED", "test_total": "PASSED"}
    kept = json.loads(file.read_text())
    assert kept["mean"].pop("jax 0.4.1, cpu") == {"arguments": 64}
    ((versions, figures),) = kept["mean"].items()
    assert versions.endswith(", cpu") and figures["arguments"] == 64
    assert figures["sent by all-reduce"] == 112  # 2 · 64 · 7/8

    file.write_text(json.dumps({**kept, "other": other}))
    tests += step("near", columns=17, within=0.1) + step("too_far", columns=17, within=0.01)
    tests += step("twice", MEAN.replace("(x", f"(lax.optimization_barrier({MEAN})"))
    tests += step("other", plan="other") + TOTAL.replace("rows(8)", "rows(16)").replace("test_total", "test_more")
    printed, outcomes = run(tmp_path, tests)
    passed = {name for name, outcome in outcomes.items() if outcome == "PASSED"}
    assert passed == {"test_step", "test_near", "test_total"} and len(outcomes) == 7, printed
    assert "plans/test_it.json has no figures for 'other' with jax" in printed
    assert "(only with jax 0.4.1, cpu): run pytest --update-plans" in printed
    assert "'mean' differs from plans/test_it.json" in printed
    assert "sent by all-reduce: 112 → 224, 2 times as much" in printed


def test_a_file_is_written_whole_or_not_at_all_and_only_the_process_that_writes_reads_it(tmp_path, monkeypatch):
    """Process 1 failed when it read the file while process 0 wrote it; a full disk left half a file."""
    file, x = tmp_path / "plans/test_it.json", jnp.ones(4)
    with pytest.raises(pytest.fail.Exception, match="has no figures for 'twice'.*run pytest --update-plans"):
        Plans(file, update=False).check("twice", lambda x: 2 * x, x)
    assert not file.exists()
    Plans(file, update=True).check("twice", lambda x: 2 * x, x)
    committed = file.read_text()

    def full(path: Path, text: str, *_) -> None:
        with path.open("w") as half:
            half.write(text[: len(text) // 2])
        raise OSError("No space left on device")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space"):
        patch.setattr(Path, "write_text", full)
        Plans(file, update=True).check("thrice", lambda x: 3 * x, x)
    assert (file.read_text(), [*file.parent.iterdir()]) == (committed, [file])
    file.write_text('{"half of what process 0 wri')
    Plans(file, update=True, writes=False).check("twice", lambda x: 2 * x, x)
    unread = "plans/test_it.json cannot be read as plans: restore it from version control, or del"
    with pytest.raises(ValueError, match=unread):
        Plans(file, update=False).check("twice", lambda x: 2 * x, x)
