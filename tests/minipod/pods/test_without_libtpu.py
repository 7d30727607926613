"""Without libtpu: `pods.compile` and `minipod plan` return what was recorded and say so; a mistake is one sentence."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import pod_programs
import pytest
from jax.experimental.layout import Format, Layout
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from minipod import pods
from minipod.__main__ import main
from minipod.pods import compile_process, compiler, planning, recorded
from minipod.pods.plan_command import prepared

PROGRAMS = Path(pod_programs.__file__)
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


@pytest.fixture(autouse=True)
def no_libtpu(monkeypatch):
    monkeypatch.setattr(compiler, "NEEDED", dict.fromkeys(("tpu", "cuda"), (("no_such_package",),)))


def traced(program=pod_programs.product):
    function, arguments = program(pods.mesh("v5e:2x2", data=4))
    return compiler.trace(function, *arguments)


def keep(folder, of=None, **other):
    made = recorded.entry(of or traced(), FACTS, {"jax": jax.__version__, "libtpu": "0.0.1"})
    recorded.save([made | other], folder)


def command(capsys, program, on="v5e:2x2", mesh="data=4", *more):
    code = main(["plan", str(program), "--on", on, "--mesh", mesh, *more])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_the_command_prints_a_recorded_plan_as_a_table_or_as_json(tmp_path, capsys):
    program = f"{shutil.copy(PROGRAMS, tmp_path)}:product"
    keep(tmp_path, prepared(program, "v5e:2x2", "data=4"))
    code, out, err = command(capsys, program)
    assert (code, err) == (0, "")
    lines = [line.split("  ")[0] for line in out.splitlines()]
    assert {"fits", "arguments", "limit", "sent along data", "bound by"} <= {*lines}
    assert out.splitlines()[-1].startswith("recorded with jax ")
    code, out, err = command(capsys, program, "v5e:2x2", "data=4", "--json")
    data = json.loads(out)
    assert code == 0 and "recorded" in err
    assert (data["fits"], data["flops"], data["sent"]) == (True, 2**30, {"data": 3 * 2 * 3 / 4 * 2**20})
    keep(tmp_path, prepared(program, "v5e:2x2", "data=4"), facts=FACTS | {"fits": False})
    assert command(capsys, program)[0] == 1
    keep(tmp_path, prepared(program, "v5e:2x2", "data=4"), program="0" * 16)
    code, out, err = command(capsys, program)
    assert (code, out) == (2, "") and "is not of the program that JAX" in err and err.count("\n") == 1


def test_a_function_of_which_some_arguments_are_bound_has_its_recording_beside_it_too(tmp_path):
    path = tmp_path / "program.py"
    exec(compile("def step(mesh, x):\n    return x.sum()", path, "exec"), known := {})
    path.write_text("def step(mesh, x): ...")
    x = jax.ShapeDtypeStruct((8,), "float32", sharding=NamedSharding(mesh := pods.mesh("v5e:2x2", data=4), P("data")))
    function = jax.jit(partial(known["step"], mesh))
    keep(tmp_path, compiler.trace(function, x))
    assert pods.compile(function, x).recorded


def test_without_a_recording_of_this_program_the_error_says_what_to_install(tmp_path):
    said = "nothing is recorded for step with these arguments on v5e:2x2, .* `pip install no-such-package`"
    with pytest.raises(OSError, match=said):
        planning.make(traced(), tmp_path)
    with pytest.raises(OSError, match="nothing is recorded"):
        pods.search(pod_programs.product, "v5e:2x2", [{"data": 4}])
    keep(tmp_path, program="0" * 16)
    with pytest.raises(RuntimeError, match="is not of the program that JAX .* traces: `pip install no-such-package`"):
        planning.make(traced(), tmp_path)


def test_a_recording_of_other_versions_is_taken_and_a_file_that_holds_none_is_named(tmp_path):
    keep(tmp_path, program="0" * 16, versions={"jax": "0.1", "libtpu": "0.0.1"})
    plan = planning.make(traced(), tmp_path)
    assert plan.notes == [f"recorded with jax 0.1, libtpu 0.0.1, not compiled here, where JAX is {jax.__version__}"]
    assert plan.notes[0] in plan._repr_html_() and plan.text is None
    for content in ("{", '[{"place": "v5e"}]'):
        (tmp_path / recorded.FILE).write_text(content)
        with pytest.raises(ValueError, match="plans.json contains no recorded plans: restore the one"):
            planning.make(traced(), tmp_path)


def test_memory_layouts_reach_the_compiler_and_the_digest_without_which_a_recording_would_pass_for_both():
    where = NamedSharding(pods.mesh("v5e:2x2", data=4), P("data"))
    x = jax.ShapeDtypeStruct((8, 4, 2), "float32", sharding=where)
    wanted = where, Format(Layout.AUTO, where), Format(Layout((0, 2, 1)), where)
    plain, auto, turned = (compiler.trace(jax.jit(jnp.tanh, in_shardings=w, out_shardings=w), x) for w in wanted)
    assert (plain.layouts, auto.layouts) == ([], [["auto"], ["auto"]])
    assert len({recorded.digest(each) for each in (plain, auto, turned)}) == 3
    here = jax.ShapeDtypeStruct((8, 4, 2), "float32", sharding=NamedSharding(jax.make_mesh((1,), ("data",)), P("data")))
    given = compile_process.formats([here.sharding], json.loads(json.dumps(turned.layouts[0])))
    ready = jax.jit(jnp.tanh, in_shardings=tuple(given)).lower(here).compile()
    assert ready.input_formats[0][0].layout.major_to_minor == (0, 2, 1)


def test_a_memory_layout_of_an_argument_counts_as_one_that_the_jit_asks_for_and_must_not_contradict_it():
    where = NamedSharding(pods.mesh("v5e:2x2", data=4), P("data"))
    turned, auto = Format(Layout((1, 0)), where), Format(Layout.AUTO, where)
    plain, laid = (jax.ShapeDtypeStruct((8, 4), "float32", sharding=of) for of in (where, turned))
    by_jit = compiler.trace(jax.jit(jnp.tanh, in_shardings=turned), plain)
    by_argument = compiler.trace(jax.jit(jnp.tanh), laid)
    assert by_jit.layouts == by_argument.layouts == [[[(1, 0), None]], [None]]
    assert recorded.digest(by_jit) == recorded.digest(by_argument) and by_argument.exported()
    assert compiler.trace(jax.jit(jnp.tanh, in_shardings=turned), laid).layouts == by_jit.layouts
    for other in (auto, Format(Layout((0, 1)), where)):
        with pytest.raises(ValueError, match="an argument and the jit have different memory layouts, Layout.*: give a"):
            compiler.trace(jax.jit(jnp.tanh, in_shardings=other), laid)


def test_a_digest_is_the_same_in_every_process_and_another_of_another_program():
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
    one, other = traced(), traced(pod_programs.donated)
    assert recorded.place(one) != recorded.place(other) and recorded.digest(one) != recorded.digest(other)
    exec(program, here := {})
    arguments, env = [sys.executable, "-c", program + "    print(digest)"], {**os.environ, "PYTHONHASHSEED": "1"}
    there = subprocess.run(arguments, env=env, capture_output=True, text=True).stdout
    assert there.split() == [here["digest"]] and len(there) == 17


def test_inside_a_warm_block_a_program_for_another_platform_starts_its_own_compiler(monkeypatch):
    started, asked = [], []

    class Child(ExitStack):
        def __init__(self, platform):
            super().__init__()
            self.platform = platform
            started.append(platform)

    monkeypatch.setattr(planning, "Child", Child)
    monkeypatch.setattr(planning, "make", lambda traced, child=None: asked.append(child and child.platform))
    programs = [pod_programs.product(pods.mesh(on, data=4)) for on in ("v5e:2x2", "h100:4")]
    with pods.warm():
        for function, given in programs:
            pods.compile(function, *given)
        with pods.warm("cuda"):
            for function, given in programs:
                pods.compile(function, *given)
    assert started == ["tpu", "cuda"] and asked == ["tpu", None, "tpu", "cuda"]


@pytest.mark.parametrize(
    "program, on, mesh, said",
    [
        ("product", "v5e:9x9", "data=4", "no slice of v5e has the shape 9x9: choose from 1x1, "),
        ("product", "v5e:2x2", "4", "'4' does not name mesh axes: write each axis once, as in data=4,"),
        ("gone", "v5e:2x2", "data=4", "pod_programs.py has no function gone"),
        ("nothing", "v5e:2x2", "data=4", "nothing(mesh) returned NoneType instead of (function, arguments) or ("),
        ("broken", "v5e:2x2", "data=4", "broken(mesh) failed: KeyError: 'data'"),
        ("wrong", "v5e:2x2", "data=4", "wrong cannot be traced: TypeError: dot_general requires"),
        ("no_sharding", "v5e:2x2", "data=4", "no_sharding cannot be traced: no argument has a NamedSharding: "),
        ("product", "v5e:2x2", "data=4", "nothing is recorded for product with these arguments on v5e:2x2"),
        ("no_such.py:product", "v5e:2x2", "data=4", "no_such.py: there is no such file"),
        ("large.py", "v5e:2x2", "data=4", "'large.py' is not FILE.py:"),
    ],
)
def test_a_mistake_is_one_sentence(capsys, program, on, mesh, said):
    code, out, err = command(capsys, program if ".py" in program else f"{PROGRAMS}:{program}", on, mesh)
    assert (code, out) == (2, "") and err.startswith(f"minipod: {said}") and err.count("\n") == 1


def test_two_programs_may_each_have_a_module_of_the_same_name(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.path", [*sys.path])
    made = []
    for rows in (8, 16):
        (folder := tmp_path / str(rows)).mkdir()
        (folder / "beside_it.py").write_text(f"ROWS = {rows}\n")
        (folder / "whole.py").write_text(
            "import beside_it, jax, json\n"
            "def program(mesh):\n"
            "    everywhere = jax.NamedSharding(mesh, jax.P())\n"
            "    return jax.numpy.sin, (jax.ShapeDtypeStruct((beside_it.ROWS,), 'float32', sharding=everywhere),)\n"
        )
        (folder / "json.py").write_text("raise SystemExit('Python has one of that name already')\n")
        made.append(prepared(f"{folder}/whole.py:program", "v5e:2x2", "data=4"))
    assert [traced.leaves[0].shape for traced in made] == [(8,), (16,)]
