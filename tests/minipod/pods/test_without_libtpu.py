"""Without libtpu: what was recorded is returned and says so, and everything that is wrong is one sentence."""

import json
import os
import subprocess
import sys
from functools import partial

import jax
import pod_programs
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from minipod import pods
from minipod.pods import compiler, planning, recorded

FACTS = {
    "fits": True,
    "memory": dict.fromkeys(("arguments", "outputs", "aliased", "temporaries", "peak", "limit"), 2**20),
    "flops": {"bf16": 2**30},
    "moved": 2**20,
    "collectives": [{"op": "all-reduce", "bytes": 2**20, "times": 3, "axes": ["data"], "branch": []}],
    "overlaps": [{"op": "all-gather", "name": "start", "products": 1, "flops": 5}],
    "full": None,
    "silent": None,
}
VERSIONS = {"jax": compiler.jax.__version__, "libtpu": "0.0.1"}


@pytest.fixture
def no_libtpu(monkeypatch):
    monkeypatch.setattr(compiler, "NEEDED", dict.fromkeys(("tpu", "cuda"), (("no_such_package",),)))


def traced(program=pod_programs.product):
    function, arguments = program(pods.mesh("v5e:2x2", data=4))
    return compiler.trace(function, *arguments)


def keep(folder, **other):
    recorded.save([recorded.entry(traced(), FACTS, VERSIONS) | other], folder)


def test_what_was_recorded_is_returned_and_says_so(no_libtpu, tmp_path):
    keep(tmp_path)
    plan = planning.make(traced(), tmp_path)
    assert plan.recorded and plan.text is None and plan.flops == FACTS["flops"]
    assert plan.sent == {"data": 3 * 2 * 3 / 4 * 2**20}
    assert plan.collectives[0].groups == ((0, 1, 2, 3),)
    assert "recorded with jax" in str(plan) and "not compiled here" in plan._repr_html_()


def test_a_function_of_which_some_arguments_are_bound_has_its_recording_beside_it_too(no_libtpu, tmp_path):
    path = tmp_path / "program.py"
    exec(compile("def step(mesh, x):\n    return x.sum()", path, "exec"), known := {})
    path.write_text("def step(mesh, x): ...")
    x = jax.ShapeDtypeStruct((8,), "float32", sharding=NamedSharding(mesh := pods.mesh("v5e:2x2", data=4), P("data")))
    function = jax.jit(partial(known["step"], mesh))
    recorded.save([recorded.entry(compiler.trace(function, x), FACTS, VERSIONS)], tmp_path)
    assert pods.compile(function, x).recorded


def test_without_a_recording_of_this_program_it_is_said_what_to_install(no_libtpu, tmp_path):
    with pytest.raises(OSError, match="nothing is recorded for step on v5e:2x2, .* `pip install no-such-package`"):
        planning.make(traced(), tmp_path)
    with pytest.raises(OSError, match="nothing is recorded"):
        pods.search(pod_programs.product, "v5e:2x2", [{"data": 4}])
    keep(tmp_path, program="0" * 16)
    said = "is of another program: `pip install no-such-package` to have this one compiled"
    with pytest.raises(RuntimeError, match=said):
        planning.make(traced(), tmp_path)


def test_a_recording_of_other_versions_is_taken_and_names_them(no_libtpu, tmp_path):
    keep(tmp_path, program="0" * 16, versions={"jax": "0.1", "libtpu": "0.0.1"})
    plan = planning.make(traced(), tmp_path)
    here = compiler.jax.__version__
    assert plan.notes == [f"recorded with jax 0.1, libtpu 0.0.1, not compiled here, and JAX is {here} here"]


@pytest.mark.parametrize("content", ["{", '[{"place": "v5e"}]'])
def test_a_file_that_holds_no_recordings_is_named(no_libtpu, tmp_path, content):
    (tmp_path / recorded.FILE).write_text(content)
    with pytest.raises(ValueError, match="plans.json holds no recorded plans: put back the one"):
        planning.make(traced(), tmp_path)


def test_another_program_has_another_place_or_digest():
    one, other = traced(), traced(pod_programs.donated)
    assert recorded.place(one) != recorded.place(other) and recorded.digest(one) != recorded.digest(other)
    assert recorded.digest(one) == recorded.digest(traced())
    kept = json.loads(json.dumps(recorded.entry(one, FACTS, VERSIONS)))
    assert kept["names"] == ["step"]


def test_a_digest_is_the_same_in_every_process():
    """JAX 0.10 prints a policy's names as a set, which each process orders by its own seed."""
    program = """if True:
        import jax, jax.numpy as jnp
        from minipod import pods
        from minipod.pods import recorded
        from minipod.pods.compiler import trace
        keep = jax.checkpoint_policies.save_only_these_names("a", "b", "c", "d", "e")
        loss = jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)).sum(), policy=keep)
        x = jax.ShapeDtypeStruct((8,), "float32", sharding=jax.NamedSharding(pods.mesh("v5e:2x2", data=4), jax.P()))
        digest = recorded.digest(trace(jax.grad(loss), x))
    """
    exec(program, here := {})
    command, env = [sys.executable, "-c", program + "    print(digest)"], {**os.environ, "PYTHONHASHSEED": "1"}
    there = subprocess.run(command, env=env, capture_output=True, text=True).stdout
    assert there.split() == [here["digest"]] and len(there) == 17
