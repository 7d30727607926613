"""`minipod traffic FILE` of programs whose traffic nobody can say: what is known, and one sentence."""

from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P

from minipod.__main__ import main

DATA = Path(__file__).parents[2] / "data"


def until(x):
    return lax.while_loop(lambda c: c.sum() < 9.0, lambda c: lax.psum(c, "x"), x)


def in_a_branch(x):
    return lax.cond(x[0] > 0, until, lambda x: lax.psum(x, "x"), x)


def compiled(function) -> str:
    mesh = jax.make_mesh((8,), ("x",), axis_types=(AxisType.Auto,))
    mapped = jax.shard_map(function, mesh=mesh, in_specs=P("x"), out_specs=P("x"), check_vma=False)
    return jax.jit(mapped).lower(jnp.ones(80)).compile().as_text() or ""


def asked(text: str, capsys, tmp_path: Path) -> tuple[int, str, str]:
    file = tmp_path / "program.hlo"
    file.write_text(text, encoding="utf-8")
    code = main(["traffic", str(file)])
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.mark.parametrize("function", [until, in_a_branch])
def test_a_loop_that_cannot_be_counted_is_a_question_mark_and_a_sentence(function, capsys, tmp_path):
    code, out, err = asked(compiled(function), capsys, tmp_path)
    assert code == 2 and out.splitlines()[-1].split()[-1] == "?"
    assert err == (
        "minipod: a loop around this all-reduce of 40 bytes runs an unknown number of times: there is no sum, and a "
        "budget over it cannot be checked\n"
    )
    assert ("70" in out) == (function is in_a_branch)  # 2 × 7/8 × 40: what the other branch sends is known


@pytest.mark.parametrize("name", ["tpu-ring", "tpu7x-0.12-large-layers", "cpu-0.12-branches"])
def test_what_can_be_counted_ends_with_0(name, capsys, tmp_path):
    code, out, err = asked((DATA / f"{name}.hlo").read_text(), capsys, tmp_path)
    assert (code, err) == (0, "") and "?" not in out


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ("collective-permute-start(", "collective-shuffle-start("),
        ("source_target_pairs={", "peers={"),
        ("f32[", "f21["),
        (" while(", " while "),
        ("source_target_pairs={{0,1}", "source_target_pairs={{zero,one}"),
    ],
)
def test_text_of_a_compiler_not_seen_before_is_one_sentence(known, new, capsys, tmp_path):
    text = (DATA / "tpu-ring.hlo").read_text()
    assert known in text
    code, out, err = asked(text.replace(known, new), capsys, tmp_path)
    assert (code, out) == (2, "") and err.startswith("minipod: ") and err.count("\n") == 1
    assert new.split("=")[0].strip("( ") in err


def test_a_loop_of_a_kind_not_seen_before_is_not_taken_for_a_call(capsys, tmp_path):
    text = (DATA / "tpu-ring.hlo").read_text()
    code, out, err = asked(text.replace(" while(", " repeat("), capsys, tmp_path)
    assert code == 2 and out.splitlines()[-1] == "each device sends (compiled for TPU): ?"
    assert err.startswith(
        "minipod: a loop around this collective-permute of 4,096 bytes runs an unknown number of times"
    )
