"""The fixture `plans`, as a stranger uses it: a file of figures is written, held against, changed, damaged."""

import json

from strangers_tests import run

TESTS = """
def mean(x):
    return lax.pmean(x, "i")

@pytest.mark.devices(8)
def test_step(plans):
    mesh = jax.make_mesh((8,), ("i",), (jax.sharding.AxisType.Auto,))
    f = jax.shard_map(mean, mesh=mesh, in_specs=P("i"), out_specs=P())
    plans.check("mean", f, jnp.ones((8, 16)))
"""


def test_a_file_is_written_then_held_against_and_a_change_is_told_in_figures(tmp_path):
    printed, outcomes = run(tmp_path, TESTS)
    assert outcomes == {"test_step": "FAILED"}
    assert "plans/test_it.json has no figures of «mean» with jax" in printed and "run pytest --update-plans" in printed
    assert not (tmp_path / "plans").exists()

    assert run(tmp_path, TESTS, "--update-plans")[1] == {"test_step": "PASSED"}
    kept = json.loads((tmp_path / "plans/test_it.json").read_text())
    ((versions, figures),) = kept["mean"].items()
    assert (
        versions.endswith(", cpu") and figures["sent by all-reduce"] == 112 and figures["arguments"] == 64
    )  # 2 · 64 · 7/8
    assert run(tmp_path, TESTS)[1] == {"test_step": "PASSED"}

    twice = TESTS.replace("lax.pmean(x", "lax.pmean(lax.optimization_barrier(lax.pmean(x, 'i'))")
    printed, outcomes = run(tmp_path, twice)
    assert outcomes == {"test_step": "FAILED"}
    assert "«mean» is not what plans/test_it.json says" in printed
    assert "sent by all-reduce: 112 → 224, 2 times as much" in printed

    near = TESTS.replace("(8, 16))", "(8, 17)), within=0.1")
    assert run(tmp_path, near)[1] == {"test_step": "PASSED"}
    assert run(tmp_path, near.replace("0.1", "0.01"))[1] == {"test_step": "FAILED"}


def test_a_file_of_another_version_and_a_damaged_one_are_one_sentence_each(tmp_path):
    (tmp_path / "plans").mkdir()
    file = tmp_path / "plans/test_it.json"
    file.write_text(json.dumps({"mean": {"jax 0.4.1, cpu": {"arguments": 64}}}))
    printed, outcomes = run(tmp_path, TESTS)
    assert outcomes == {"test_step": "FAILED"} and "; of jax 0.4.1, cpu it has: run pytest --update-plans" in printed
    assert run(tmp_path, TESTS, "--update-plans")[1] == {"test_step": "PASSED"}
    assert len(json.loads(file.read_text())["mean"]) == 2  # both stay

    file.write_text('{"mean": [')
    printed, _ = run(tmp_path, TESTS)
    assert "ValueError: plans/test_it.json holds no plans: take it from the version control, or delete it" in printed


def test_of_several_processes_one_writes_and_all_compare(tmp_path):
    tests = """
@pytest.mark.processes(2, devices=2)
def test_total(plans):
    x = rows(8)
    f = jax.shard_map(lambda x: lax.psum(x, "i"), mesh=x.sharding.mesh, in_specs=P("i"), out_specs=P())
    plans.check("total", f, x)
"""
    assert run(tmp_path, tests, "--update-plans")[1] == {"test_total": "PASSED"}
    assert run(tmp_path, tests)[1] == {"test_total": "PASSED"}
    printed, outcomes = run(tmp_path, tests.replace("rows(8)", "rows(16)"))
    assert outcomes == {"test_total": "FAILED"} and "2 times as much" in printed
