"""`minipod plan` compiles a file's program as JAX does ahead of time, on the topology's devices: needs libtpu."""

import json
import os
import pickle
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import planned_programs
import psutil
import pytest

from minipod.__main__ import main
from minipod.pods import compiler
from minipod.pods.plan_command import Wanted, run

pytestmark = pytest.mark.skipif(bool(compiler.missing("tpu")), reason="libtpu and flatbuffers are not installed")
FILE = planned_programs.__file__


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def planned(name, mesh="data=2,model=2", **more):
    return run(Wanted(f"{FILE}:{name}", "v5e:2x2", mesh, **more))


def refused(capsys, name, *more):
    code = main(["plan", f"{FILE}:{name}", "--on", "v5e:2x2", "--mesh", "data=2,model=2", *more])
    said = capsys.readouterr()
    lines = [line for line in said.err.splitlines() if line != "ordinary is made"]
    assert (code, said.out, len(lines)) == (2, "", 1), said.err
    return lines[0]


def test_any_argument_and_any_jit():
    plan = planned("ordinary")
    assert plan.memory["arguments"] == pytest.approx(2 * 64 * 8 / 2 + 4 * 8 * 8 + 2 * 8, abs=24576)  # padded to tiles
    assert plan.flops and sum(plan.flops.values()) == 2 * 32 * 8 * 8


@pytest.mark.long
def test_a_module_that_cannot_say_its_file_is_none_that_the_plan_was_made_of():
    assert planned("with_a_lazy_module").fits and planned("with_a_lazy_module").kept


@pytest.mark.long
def test_a_program_may_make_its_own_mesh():
    plan = planned("its_own_mesh", None)
    assert dict(plan.mesh.shape) == {"rows": 2, "columns": 2} and plan.fits


@pytest.mark.long
@pytest.mark.parametrize("name", ["set_inside", "as_on_a_tpu", "on_the_host"])
def test_what_export_cannot_write_is_compiled(name):
    plan = planned(name)
    assert plan.fits and plan.text
    if name == "as_on_a_tpu":
        assert 'custom_call_target="tpu_custom_call"' in plan.text
    if name == "on_the_host":
        assert plan.memory["host"] == 8 * 256 * 4 // 4 and ("host memory", "2.00 KiB") in plan._rows()


@pytest.mark.long
def test_explicit_axes():
    assert planned("explicit", explicit=True).sent["model"] > 0


@pytest.mark.long
def test_options_reach_the_compiler_and_files_are_written(tmp_path: Path, capsys, monkeypatch):
    saved, dumped = tmp_path / "saved", tmp_path / "dumped.txt"
    plan = planned("in_the_jit", save=str(saved), dump=str(dumped), xla={"xla_tpu_scoped_vmem_limit_kib": "32768"})
    assert dumped.read_text() == plan.text and len(pickle.loads(saved.read_bytes())) == 3
    why = refused(capsys, "ordinary", "--save", str(saved)).splitlines()[-1]
    assert why.startswith(f"minipod: the compiled program cannot be saved in {saved}: ")
    assert "No such compile option: 'no_such'" in refused(capsys, "nowhere", "--xla", "no_such=1")
    monkeypatch.setenv("LIBTPU_INIT_ARGS", "--no_such_flag_at_all=1")
    assert "the process that compiles nowhere for v5e:2x2 ended: exit code 1" in refused(capsys, "nowhere")


@pytest.mark.long
def test_what_a_program_prints_does_not_reach_the_json(capsys):
    code = main(["plan", f"{FILE}:loud", "--on", "v5e:2x2", "--mesh", "data=2,model=2", "--json"])
    said = capsys.readouterr()
    assert code == 0 and json.loads(said.out)["fits"]
    assert said.err.startswith("xxx") and len(said.err) < 70_000 and "(the rest of the program's output" in said.err


@pytest.mark.long
def test_what_does_not_fit_names_what_takes_most():
    plan = planned("sorted_pairs")
    assert not plan.fits and plan.memory["arguments"] == 2 << 17
    line = next(i for i, text in enumerate(Path(FILE).read_text().splitlines(), 1) if "jnp.sort(" in text)
    (largest,) = [note for note in plan.notes if note.startswith("largest")]
    assert f"(planned_programs.py, line {line})" in largest and "32.00 GiB" in largest


MISTAKES = {
    "aborts": "the process that compiles aborts for v5e:2x2 ended: SIGABRT",
    "too_much_vmem": "too_much_vmem does not compile for v5e:2x2: the kernel doubled.1 wants 32.00MiB of fast memory",
    "put": "put(mesh) failed: it makes arrays on devices that are not here; wrap it in jax.eval_shape",
    "lacks_a_package": "lacks_a_package(mesh) failed: ModuleNotFoundError: No module named 'no_such_package'",
    "three": "three(mesh) returned (PjitFunction, tuple, int) instead of (function, arguments) or (function, ",
}


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.long] * (n != "aborts")) for n in MISTAKES])
def test_a_mistake_is_one_sentence(capsys, name):
    assert refused(capsys, name).startswith(f"minipod: {MISTAKES[name]}")
    assert not [p for p in psutil.Process().children(recursive=True) if "compile_process" in " ".join(p.cmdline())]


@pytest.mark.long
def test_a_limit_is_kept():
    command = [sys.executable, "-m", "minipod", "plan", f"{FILE}:slow", "--on", "v5e:2x2", "--mesh", "data=4"]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([*command, "--limit", "8"], capture_output=True, text=True, env=env, timeout=600)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "minipod: compiling slow for v5e:2x2 took more than 8 s: --limit allows more\n"


def test_a_plan_is_kept_until_something_that_it_was_made_of_changes(tmp_path: Path):
    program, beside = tmp_path / "one.py", tmp_path / "rows_here.py"
    beside.write_text("ROWS = 8\n")
    program.write_text(
        "import jax, rows_here\n"
        "def made(mesh):\n"
        "    everywhere = jax.NamedSharding(mesh, jax.P())\n"
        "    shape = rows_here.ROWS, int(open(__file__.replace('one.py', 'size.txt')).read())\n"
        "    return (lambda x: x @ x.T), (jax.ShapeDtypeStruct(shape, 'bfloat16', sharding=everywhere),)\n"
    )
    (tmp_path / "size.txt").write_text("128")

    def flops(**more):
        plan = run(Wanted(f"{program}:made", "v5e:2x2", "data=4", **more))
        return sum(plan.flops.values()), bool(plan.kept)

    assert flops() == (2 * 8 * 8 * 128, False)
    assert flops() == (2 * 8 * 8 * 128, True)
    assert flops(again=True) == (2 * 8 * 8 * 128, False)
    (tmp_path / "size.txt").write_text("256")
    assert flops() == (2 * 8 * 8 * 256, False)
    beside.write_text("ROWS = 16\n")
    assert flops() == (2 * 16 * 16 * 256, False)
    assert flops()[1]


SUPPORT = Path(FILE).parent
PROGRAMS = [f"planned_programs.py:{name}" for name in ("refs_as_arguments", "compiled_inside")]
PROGRAMS += [f"planned_libraries.py:{name}" for name in ("nnx_shared", "equinox_filter_jit")]


@pytest.mark.parametrize("program", [pytest.param(p, marks=[pytest.mark.long] * (p != PROGRAMS[0])) for p in PROGRAMS])
def test_what_jax_compiles_is_planned(program, capsys):
    if program.startswith("planned_libraries.py") and not all(map(find_spec, ("flax", "equinox", "optax"))):
        pytest.skip("not installed: pip install flax equinox optax")
    place = "v5e:2x2", "data=2,model=2"
    by_jax = [sys.executable, SUPPORT / "compiled_by_jax.py", *place, program]
    of_jax = json.loads(subprocess.run(by_jax, stdout=subprocess.PIPE, text=True, timeout=900, check=True).stdout)
    assert main(["plan", f"{SUPPORT}/{program}", "--on", place[0], "--mesh", place[1], "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["fits"] is True and plan["memory"]["arguments"] == of_jax["memory"]["argument"]
