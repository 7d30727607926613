"""What is sent, in bytes: by mistakes beside solutions, as the words about them say; and by the programs of chapters
that the CPU's compiler compiles here, beside what the TPU's made of them, as recorded: where they differ is what the
pages say, and nothing else."""

import math
import re
import sys
from importlib import import_module
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import NamedSharding, P
from jax.sharding import AxisType

from grader.see.observe import load
from lessons.ch08_three_ways import what_is_sent
from minipod import pods, traffic
from publish.page import ROOT


@pytest.fixture
def modules(monkeypatch):
    """A chapter's solutions and its mistakes."""

    def of(chapter: str) -> tuple[ModuleType, ModuleType]:
        monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])
        return load(ROOT / "solutions" / f"{chapter}.py"), load(ROOT / "lessons" / chapter / "mistakes.py")

    return of


def on(*shape: int) -> jax.sharding.Mesh:
    return jax.make_mesh(shape, ("x", "y")[: len(shape)], devices=jax.devices()[: math.prod(shape)])


def ratio(wrong, right, *args) -> float:
    """How many times what the solution sends the mistake sends."""
    mesh = args[0].sharding.mesh
    totals = [traffic.total(traffic.of(lambda *a, f=f: f(*a, mesh), *args)) for f in (wrong, right)]
    return totals[0] / totals[1]


def test_the_moments_that_are_left_to_jit_send_at_least_twice_as_much(modules):
    solution, mistakes = modules("ch06_shard_map")
    x = jax.device_put(jnp.ones((8, 8)), NamedSharding(on(2, 4), P("x", "y")))
    guess = jax.device_put(jnp.float32(1), NamedSharding(x.sharding.mesh, P()))
    right = solution.mean_and_variance
    assert 2 <= ratio(mistakes.mean_and_variance__left_to_jit, right, x, guess) < 2.2
    assert ratio(mistakes.mean_and_variance__two_rounds, right, x, guess) == 1


def test_gradients_averaged_first_send_three_times_and_gathered_n_times_as_much(modules, n=4):
    solution, mistakes = modules("ch07_collectives")
    mesh, right = on(n), solution.mean_gradient_shards
    gradient = jax.device_put(jnp.ones((n, 2 * n, 3)), NamedSharding(mesh, P("x")))

    def of(function):
        return lambda x, mesh: function({"w": x}, mesh)

    assert ratio(of(mistakes.mean_gradient_shards__averaged_first), of(right), gradient) == 3
    assert ratio(of(mistakes.mean_gradient_shards__gathered), of(right), gradient) == n


@pytest.mark.parametrize("n, more", [(2, 1.0), (4, 2.0)])
def test_whole_rows_send_more_than_pieces_from_three_devices_on(modules, n, more):
    solution, mistakes = modules("ch07_collectives")
    x = jax.device_put(jnp.ones((n, 4 * n)), NamedSharding(on(n), P("x")))
    assert ratio(mistakes.ring_all_reduce__whole_rows, solution.ring_all_reduce, x) == more


def by_program(report: str) -> dict[str, int]:
    """What a device sends, by the name of the program: two lines for each, below the one that says which compiler."""
    head, *lines = report.splitlines()
    assert re.fullmatch(r"8 chips of TPU v5e, libtpu [\d.]+", head)
    names = [re.sub(r": [^:]*$", "", line) for line in lines[::2]]
    return dict(zip(names, [int(line.split()[-1]) for line in lines[1::2]], strict=True))


@pytest.fixture
def compilers(monkeypatch):
    """(chapter) → what the programs of its on_tpu.py send as the CPU compiles them here, and as the TPU did."""

    def mesh(_, kinds=None, /, **axes: int) -> jax.sharding.Mesh:
        return jax.make_mesh(tuple(axes.values()), tuple(axes), kinds or auto_axes(len(axes)))

    def ask(function, *args) -> dict[str, Any]:
        compiled = jax.jit(function).lower(*args).compile()
        specs = [str(each.spec) for each in jax.tree.leaves(compiled.output_shardings)]
        return {"text": compiled.as_text() or "", "specs": specs}

    def both(chapter: str) -> tuple[dict[str, int], dict[str, int]]:
        monkeypatch.setattr(pods, "mesh", mesh)
        report = import_module(f"lessons.{chapter}.on_tpu").report
        there = (ROOT / "lessons" / chapter / "on_tpu.txt").read_text("utf-8")
        return by_program(report(ask, "0")), by_program(there)

    return both


def auto_axes(count: int) -> tuple[AxisType, ...]:
    return (AxisType.Auto,) * count


def different(here: dict[str, int], there: dict[str, int]) -> set[str]:
    assert set(here) == set(there)
    return {name for name in here if here[name] != there[name]}


def test_products_and_column_sums_of_chapter_4(compilers):
    here, there = compilers("ch04_jit")
    rounded = f"{P('x', 'y')} @ {P(None, 'y')}"
    products = {name for name in here if " × " in name}
    assert different(here, there) - products == {rounded, "8 column sums, P()"}
    assert there[rounded] * 2 == here[rounded] == there["the last, precision highest"]
    assert there["8 column sums, P()"] == 8 + 48 and here["8 column sums, P()"] == 8 + 24


def test_the_model_and_sums_of_chapter_5(compilers):
    """The same layouts, and the gathers of every model in bfloat16; of the sums only those in two parts."""
    here, there = compilers("ch05_constraints")
    here, there = (
        {name: sent for name, sent in each.items() if name.startswith(("model", "sums"))} for each in (here, there)
    )
    models = {name for name in here if name.startswith("model")}
    assert different(here, there) == models | {f"sums -> {P('x')}"}


def test_the_sums_and_argmax_of_chapter_6(compilers):
    here, there = compilers("ch06_shard_map")
    assert different(here, there) == {"sum of the table", "argmax of x"}
    assert (here["sum of the table"], there["sum of the table"]) == (6 + 4, 7)
    assert there["argmax of x"] == 2 * here["argmax of x"] == 112


def rows(text: str) -> dict[str, tuple[int, str, str]]:
    """Program → bytes sent, how many are hidden, collectives."""
    found = re.findall(r"^(\S.*?)  +([\d,]+)  (\d of \d)  (.*)$", text, re.M)
    return {name: (int(sent.replace(",", "")), hidden, said) for name, sent, hidden, said in found}


def test_convolutions_experts_and_products_of_chapter_8():
    here = rows(what_is_sent.report(jax.make_mesh((8,), ("x",), auto_axes(1))))
    text = (ROOT / "lessons/ch08_three_ways/found_tpu.txt").read_text("utf-8")
    assert re.match(r"TPU v5e, 8 chips, libtpu \d+\.\d+\.\d+\n", text)
    on_a_tpu = rows(text)
    # a convolution is two permutes of one row; the same mean in other words costs more
    assert here["convolved"] == (2 * 16 * 4, "0 of 2", "2 collective-permute")
    assert on_a_tpu["convolved"] == (2 * 16 * 2, "0 of 2", "2 collective-permute")  # rounded to bf16
    assert min(here["padded"][0], here["joined"][0], on_a_tpu["padded"][0]) > 5 * here["convolved"][0]
    assert on_a_tpu["joined"][0] == here["convolved"][0]
    # experts are two all-to-alls: f32[8, 4, 16] for each, back f32[8, 4, 64]; seven eighths leave a device
    there_and_back = 7 * (8 * 4 * 16 + 8 * 4 * 64) * 4 // 8
    assert here["experts"] == (there_and_back, "0 of 2", "2 all-to-all")
    assert on_a_tpu["experts"] == (there_and_back // 2, "0 of 2", "2 all-to-all")
    # only a large product of bf16 is on the move, and only on a TPU
    moved = [[n for n in seen if n.startswith("product") and "permute" in seen[n][2]] for seen in (here, on_a_tpu)]
    assert moved == [[], ["product, bf16[8192²]"]]
    block = 8192 * 8192 * 2 // 8
    assert on_a_tpu["product, bf16[8192²]"] == (9 * block, "4 of 5", "9 collective-permute")
