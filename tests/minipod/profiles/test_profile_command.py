"""`minipod profile`: a recording, a program of the reader's, two processes; and bad input."""

import json
from pathlib import Path

import pytest
from made_profiles import of_cpu, written

from minipod.__main__ import main

RECORDED = Path(__file__).parents[2] / "data" / "eight_devices.xplane.pb"
PROGRAM = """
import sys
import jax, jax.numpy as jnp
from jax import P, lax
print("devices", jax.device_count(), sys.argv[1:])
mesh = jax.make_mesh((2, 2), ("data", "model"))
def layers(x):
    for name in ("first", "second"):
        with jax.named_scope(name), jax.named_scope("mlp"):
            x = jnp.tanh(x @ x.T @ x)
    return lax.psum(x, "model")
work = jax.shard_map(layers, mesh=mesh, in_specs=P(("data", "model")), out_specs=P("data"))
x = jax.device_put(jnp.ones((64, 64)), jax.NamedSharding(mesh, P(("data", "model"))))
for i in range(2):
    with jax.profiler.StepTraceAnnotation("train", step_num=i):
        jax.block_until_ready(jax.jit(work)(x))
"""


def profiled(capsys, *arguments):
    code = main(["profile", *map(str, arguments)])
    return code, *capsys.readouterr()


def test_a_recording_of_eight_devices_is_read_and_its_longest_operations_are_named_where_they_are_asked_for(capsys):
    code, out, _ = profiled(capsys, RECORDED, "--json")
    data = json.loads(out)
    assert code == 0 and [each["device"] for each in data["devices"]] == list(range(8))
    assert data["collectives"].keys() == {"all-reduce"} and data["collectives"]["all-reduce"]["times"] == 2
    for each in data["devices"]:
        parts = [each[name] for name in ("compute", "waiting", "exchange", "idle")]
        assert sum(parts) == pytest.approx(data["seconds"]) and min(parts) >= 0
    computed = {each["device"]: each["compute"] for each in data["devices"]}
    assert max(computed, key=computed.get) == 3  # its loop ran 60 times, those of the others twice
    assert data["straggler"]["device"] == 0  # yet this one's thread began last, on a machine with two cores
    table = profiled(capsys, RECORDED, "--top", 2)[1].partition("longest operations")[2].splitlines()
    seconds = [float(line.split()[-1]) for line in table[1:]]
    assert len(seconds) == 2 and seconds == sorted(seconds, reverse=True) and seconds[0] > 0
    assert "longest operations" not in profiled(capsys, RECORDED)[1]


def test_a_program_is_run_and_its_text_says_who_takes_part(tmp_path, capsys):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    picture = tmp_path / "lanes.svg"
    code, out, error = profiled(capsys, program, "-d", 4, "--step", 1, "--draw", picture, "--top", 9)
    assert code == 0, error
    assert "devices 4 []" in error and "device 3" in out and "all-reduce" in out
    assert "--text" not in out  # nothing had to be assumed
    assert "ms; step 1\n" in out  # not those that are not shown
    assert "first/mlp/" in out and "second/mlp/" in out, "operations have the names of their scopes"
    assert picture.read_text().startswith("<svg")


def test_two_processes_one_of_which_waits_for_its_data_are_one_timeline(tmp_path, capsys):
    for process, comes in enumerate((1, 8)):
        sums = [(2048 * process, "psum.3", 10 * step + comes, 10 * step + 9) for step in range(4)]
        steps = [("train", 10 * step, 10 * step + 10, step) for step in range(4)]
        written(tmp_path / str(process), of_cpu(sums, steps))
    code, out, error = profiled(capsys, tmp_path / "0", tmp_path / "1", "--step", 2, "--json")
    assert (code, error) == (0, "")
    assert json.loads(out)["straggler"]["process"] == 1
    waited = {each["process"]: round(1e3 * each["waiting"], 3) for each in json.loads(out)["devices"]}
    assert waited == {0: 7, 1: 0}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["{tmp}/none.xplane.pb"], "{tmp}/none.xplane.pb: there is no such file or folder"),
        (["{tmp}/cut.xplane.pb"], "cut.xplane.pb cannot be read: it is incomplete, or not a profile of jax.profiler"),
        (["{tmp}/good.xplane.pb", "--step", "7"], "step 7 was not recorded; recorded steps: none"),
        (["{tmp}/good.xplane.pb", "--text", "{tmp}/no.txt"], "{tmp}/no.txt: No such file or directory"),
        (["{tmp}/good.xplane.pb", "--text", "{tmp}/good.xplane.pb"], "{tmp}/good.xplane.pb is not text: give the"),
        (["{tmp}/none.py"], "{tmp}/none.py: there is no such program"),
        pytest.param(["{tmp}/quiet.py"], "{tmp}/quiet.py: its profile has no operation of a", marks=pytest.mark.long),
        pytest.param(["{tmp}/leaves.py"], "{tmp}/leaves.py: it left no profile: it must end", marks=pytest.mark.long),
        (["{tmp}/raises.py"], "{tmp}/raises.py: process 0 raised ValueError: no, at raises.py:1"),
        (["{tmp}/good.xplane.pb", "--draw", "{tmp}/a/b.svg"], "{tmp}/a/b.svg: there is no folder {tmp}/a"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence_and_exit_code_2(tmp_path, capsys, arguments, sentence):
    good = of_cpu([(0, "fusion.1", 0, 1)])
    for name, data in ("cut", good[:-9]), ("good", good):
        (tmp_path / f"{name}.xplane.pb").write_bytes(data)
    (tmp_path / "quiet.py").write_text("")
    (tmp_path / "leaves.py").write_text("import os; os._exit(0)")
    (tmp_path / "raises.py").write_text('raise ValueError("no")')
    code, out, error = profiled(capsys, *(a.format(tmp=tmp_path) for a in arguments))
    assert (code, out) == (2, "")
    assert error.splitlines()[-1].startswith(f"minipod: {sentence.format(tmp=tmp_path)}")
