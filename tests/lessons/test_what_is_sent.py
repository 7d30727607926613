"""What is sent, in bytes: by mistakes beside solutions, as the words about them say; and by the programs of chapters
that the CPU's compiler compiles here, beside what the TPU's made of them, as recorded: where they differ is what the
pages say, and nothing else."""

import math
import re
import sys
from types import ModuleType

import jax
import jax.numpy as jnp
import pytest
from jax import NamedSharding, P
from jax.lax import with_sharding_constraint
from jax.sharding import AxisType

from grader.see.observe import load
from lessons.ch08_three_ways import what_is_sent
from minipod import traffic
from publish.page import ROOT

FOUND = ROOT / "lessons/ch08_three_ways/found_tpu.txt"


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


def recorded(chapter: str) -> dict[str, int]:
    """What a device sends, by the name of the program: two lines for each, below the one that says which compiler."""
    head, *lines = (ROOT / "lessons" / chapter / "on_tpu.txt").read_text().splitlines()
    assert re.fullmatch(r"8 chips of TPU v5e, libtpu [\d.]+", head)
    names = [re.sub(r": [^:]*$", "", line) for line in lines[::2]]
    return dict(zip(names, [int(line.split()[-1]) for line in lines[1::2]], strict=True))


def auto(*shape: int) -> jax.sharding.Mesh:
    return jax.make_mesh(shape, ("x", "y")[: len(shape)], (AxisType.Auto,) * len(shape))


def empty(shape: tuple[int, ...], *spec, mesh=None, dtype=jnp.float32) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh or auto(2, 4), P(*spec)))


def sends(function, *args, **settings) -> tuple[int | float, P]:
    compiled = jax.jit(function, **settings).lower(*args).compile()
    return traffic.total(traffic.read(compiled.as_text() or "")), compiled.output_shardings.spec


def differences(chapter: str, here: dict[str, int | float]) -> set[str]:
    there = recorded(chapter)
    assert set(here) <= set(there)
    return {name for name in here if here[name] != there[name]}


def test_products_and_column_sums_of_chapter_4():
    here = {}
    for left, right in (
        (P("x", None), P(None, "y")),
        (P("x", "y"), P("y", None)),
        (P(None, "y"), P("y", None)),
        (P("x", "y"), P(None, "y")),
    ):
        here[f"{left} @ {right}"], _ = sends(jnp.matmul, empty((16, 32), *left), empty((32, 8), *right))
    for columns, spec in (8, P("y")), (8, P(("y", "x"))), (8, P(("x", "y"))), (8, P()), (8192, P()):
        wanted, x = NamedSharding(auto(2, 4), spec), empty((4, columns), "x", "y")
        here[f"{columns} column sums, {spec}"], _ = sends(lambda x: x.sum(axis=0), x, out_shardings=wanted)
    rounded = f"{P('x', 'y')} @ {P(None, 'y')}"
    assert differences("ch04_jit", here) == {rounded, "8 column sums, P()"}
    there = recorded("ch04_jit")
    assert there[rounded] * 2 == here[rounded] == there["the last, precision highest"]
    assert there["8 column sums, P()"] == 8 + 48 and here["8 column sums, P()"] == 8 + 24


def test_the_model_and_sums_of_chapter_5():
    def ask(x, *spec):
        return with_sharding_constraint(x, NamedSharding(auto(2, 4), P(*spec)))

    def model(batch, w1, w2):
        return jnp.tanh(batch @ w1) @ w2

    w1, w2 = empty((32, 64), "x", "y"), empty((64, 32), "y", "x")
    programs = {
        "model, 16 rows": (model, 16),
        "model_told, 16 rows": (lambda *a: ask(model(*a), "x", None), 16),
        "model, 64 rows": (model, 64),
        "model_told, 64 rows": (lambda *a: ask(model(*a), "x", None), 64),
        "model_overruled, 16 rows": (lambda batch, w1, w2: ask(jnp.tanh(batch @ w1)) @ w2, 16),
    }
    here: dict[str, int | float] = {}
    for name, (function, rows) in programs.items():
        total, out = sends(function, empty((rows, 32), "x", None), w1, w2)
        here[f"{name} -> {out}"] = total
    models = set(here)
    for spec in (("x", "y"),), (("y", "x"),), ("x",):
        total, out = sends(lambda x, spec=spec: ask(x.sum(axis=0), *spec), empty((4, 8), "x", "y"))
        here[f"sums -> {out}"] = total
    # the same layouts, and the gathers of every model in bfloat16; of the sums only those in two parts
    assert differences("ch05_constraints", here) == models | {f"sums -> {P('x')}"}


def test_the_sums_and_argmax_of_chapter_6():
    here = {
        "sum of the table": sends(jnp.sum, empty((4, 8), "x", "y", mesh=on(2, 4)))[0],
        "sum of x": sends(jnp.sum, empty((32,), "x", mesh=on(8), dtype=jnp.int32))[0],
        "argmax of x": sends(jnp.argmax, empty((32,), "x", mesh=on(8), dtype=jnp.int32))[0],
    }
    assert differences("ch06_shard_map", here) == {"sum of the table", "argmax of x"}
    there = recorded("ch06_shard_map")
    assert (here["sum of the table"], there["sum of the table"]) == (6 + 4, 7)
    assert there["argmax of x"] == 2 * here["argmax of x"] == 112


def rows(text: str) -> dict[str, tuple[int, str, str]]:
    """Program → bytes sent, how many are hidden, collectives."""
    found = re.findall(r"^(\S.*?)  +([\d,]+)  (\d of \d)  (.*)$", text, re.M)
    return {name: (int(sent.replace(",", "")), hidden, said) for name, sent, hidden, said in found}


@pytest.fixture(scope="module")
def here():
    return rows(what_is_sent.report(auto(8)))


@pytest.fixture(scope="module")
def on_a_tpu():
    return rows(FOUND.read_text("utf-8"))


def test_a_convolution_is_two_permutes_of_one_row(here, on_a_tpu):
    assert here["convolved"] == (2 * 16 * 4, "0 of 2", "2 collective-permute")
    assert on_a_tpu["convolved"] == (2 * 16 * 2, "0 of 2", "2 collective-permute")  # rounded to bf16


def test_the_same_mean_in_other_words_costs_more(here, on_a_tpu):
    assert min(here["padded"][0], here["joined"][0], on_a_tpu["padded"][0]) > 5 * here["convolved"][0]
    assert on_a_tpu["joined"][0] == here["convolved"][0]


def test_experts_are_two_all_to_alls(here, on_a_tpu):
    """There f32[8, 4, 16] for each expert, back f32[8, 4, 64]; seven eighths leave a device."""
    there_and_back = 7 * (8 * 4 * 16 + 8 * 4 * 64) * 4 // 8
    assert here["experts"] == (there_and_back, "0 of 2", "2 all-to-all")
    assert on_a_tpu["experts"] == (there_and_back // 2, "0 of 2", "2 all-to-all")


def test_only_a_large_product_of_bf16_is_on_the_move_and_only_on_a_tpu(here, on_a_tpu):
    block = 8192 * 8192 * 2 // 8
    moved = {
        (kind, name) for kind, seen in (("cpu", here), ("tpu", on_a_tpu)) for name in seen if "permute" in seen[name][2]
    }
    assert {name for kind, name in moved if name.startswith("product")} == {"product, bf16[8192²]"}
    assert ("cpu", "product, bf16[8192²]") not in moved
    assert on_a_tpu["product, bf16[8192²]"] == (9 * block, "4 of 5", "9 collective-permute")


def test_a_recording_says_of_which_compiler_it_is():
    assert re.fullmatch(r"TPU v5e, 8 chips, libtpu \d+\.\d+\.\d+", FOUND.read_text("utf-8").splitlines()[0])
