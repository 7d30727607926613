"""`minipod plan` on the command line: a table, JSON, and one sentence for each mistake."""

import json
import sys
from pathlib import Path

import pytest

from minipod.__main__ import main
from minipod.pods import compiler
from minipod.pods.plan_command import prepared

ROOT = Path(__file__).parents[3]
PROGRAMS = ROOT / "tests/support/pod_programs.py"
LARGE = ROOT / "lessons/ch09_training/large.py"


@pytest.fixture(autouse=True)
def no_libtpu(monkeypatch):
    """What is recorded is enough here, and takes no time."""
    monkeypatch.setattr(compiler, "NEEDED", dict.fromkeys(("tpu", "cuda"), (("no_such_package",),)))


def plan(capsys, program, on="v5e:2x2", mesh="data=4", *more):
    code = main(["plan", str(program), "--on", on, "--mesh", mesh, *more])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_a_recorded_plan_is_a_table_and_fsdp_fits_where_data_parallelism_does_not(capsys):
    """24 GiB of parameters on eight chips of 16 GiB."""
    code, out, err = plan(capsys, f"{LARGE}:fsdp", "v5e:2x4", "data=8")
    assert (code, err) == (0, "")
    lines = [line.split("  ")[0] for line in out.splitlines()]
    assert {"fits", "arguments", "limit", "sent along data", "bound by"} <= {*lines}
    assert out.splitlines()[-1].startswith("recorded with jax ")
    code, out, err = plan(capsys, f"{LARGE}:fsdp", "v5e:2x4", "data=8", "--json")
    fits = json.loads(out)
    assert code == 0 and fits["fits"] and "recorded" in err
    assert fits["memory"]["arguments"] == pytest.approx(3 * 2**30, rel=0.01)
    parameters = 24 * 2**30
    assert fits["sent"]["data"] == 3 * 7 / 8 * parameters  # gathered forward and backward, gradients scattered
    rows, width, hidden, layers = 128, 8192, 32768, 24
    assert fits["flops"] == 6 * 2 * rows * width * hidden * layers
    code, out, _ = plan(capsys, f"{LARGE}:data_parallel", "v5e:2x4", "data=8", "--json")
    large = json.loads(out)
    assert code == 0 and not large["fits"] and large["bound"] is None
    assert large["memory"]["temporaries"] > large["memory"]["limit"] == 15.75 * 2**30


@pytest.mark.parametrize(
    "program, on, mesh, said",
    [
        ("product", "v5e:9x9", "data=4", "no slice of v5e is 9x9: 1x1, "),
        ("product", "v5e:2x2", "data=3", "v5e:2x2 has 4 devices, and the axes data=3 multiply to 3"),
        ("product", "6xv5e:2x2", "data=4,model=6", "data=4, model=6 cannot be laid on 6xv5e:2x2: the first axes go "),
        ("product", "v5e:2x2", "4", "'4' are no mesh axes: each is a name and a size, once, such as data=4,model=4"),
        ("product", "v5e:2x2", "data=2,data=2", "'data=2,data=2' are no mesh axes"),
        ("gone", "v5e:2x2", "data=4", "pod_programs.py cannot be imported: it has no function gone"),
        ("nothing", "v5e:2x2", "data=4", "nothing(mesh) returned NoneType, and (function, arguments) or ("),
        ("broken", "v5e:2x2", "data=4", "broken(mesh) failed: KeyError: 'data'"),
        ("wrong", "v5e:2x2", "data=4", "wrong cannot be traced: TypeError: dot_general requires"),
        ("no_sharding", "v5e:2x2", "data=4", "no_sharding cannot be traced: no argument has a NamedSharding, "),
        ("product", "v5e:2x2", "data=4", "nothing is recorded for product on v5e:2x2"),
    ],
)
def test_a_mistake_is_one_sentence(capsys, program, on, mesh, said):
    code, out, err = plan(capsys, f"{PROGRAMS}:{program}", on, mesh)
    assert (code, out) == (2, "") and err.startswith(f"minipod: {said}") and err.count("\n") == 1


def test_a_program_that_is_none_is_one_sentence(capsys):
    for program, said in (("no_such.py:product", "no_such.py: there is no such file"), ("large.py", "is not FILE.py:")):
        code, _, err = plan(capsys, program)
        assert code == 2 and said in err and err.count("\n") == 1


def test_two_programs_may_each_have_a_module_of_the_same_name(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.path", [*sys.path])
    made = []
    for rows in (8, 16):
        folder = tmp_path / str(rows)
        folder.mkdir()
        (folder / "beside_it.py").write_text(f"ROWS = {rows}\n")
        (folder / "whole.py").write_text(
            "import beside_it, jax, json\n"
            "everywhere = lambda mesh: jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())\n"
            "def program(mesh):\n"
            "    x = jax.ShapeDtypeStruct((beside_it.ROWS,), 'float32', sharding=everywhere(mesh))\n"
            "    return lambda x: x + 1, (x,)\n"
        )
        (folder / "json.py").write_text("raise SystemExit('Python has one of that name already')\n")
        made.append(prepared(f"{folder}/whole.py:program", "v5e:2x2", "data=4"))
    assert [traced.leaves[0].shape for traced in made] == [(8,), (16,)]
