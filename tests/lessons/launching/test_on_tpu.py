"""What the TPU's compiler made of the chapters' programs, as recorded, beside what the CPU's makes of them here: where
they differ is what the pages say, and nothing else."""

import re
from pathlib import Path

import jax
import jax.numpy as jnp
from jax import NamedSharding, P
from jax.lax import with_sharding_constraint
from jax.sharding import AxisType

from minipod import traffic
from minipod.devices import simulate

simulate(8)
LESSONS = Path(__file__).resolve().parents[3] / "lessons"


def recorded(chapter: str) -> dict[str, int]:
    """What a device sends, by the name of the program: two lines for each, below the one that says which compiler."""
    head, *lines = (LESSONS / chapter / "on_tpu.txt").read_text().splitlines()
    assert re.fullmatch(r"8 chips of TPU v5e, libtpu [\d.]+", head)
    names = [re.sub(r": [^:]*$", "", line) for line in lines[::2]]
    return dict(zip(names, [int(line.split()[-1]) for line in lines[1::2]], strict=True))


def mesh(kind: AxisType, *shape: int) -> jax.sharding.Mesh:
    return jax.make_mesh(shape, ("x", "y")[: len(shape)], axis_types=(kind,) * len(shape))


AUTO = mesh(AxisType.Auto, 2, 4)


def empty(shape: tuple[int, ...], *spec, on=AUTO, dtype=jnp.float32) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(on, P(*spec)))


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
        wanted, x = NamedSharding(AUTO, spec), empty((4, columns), "x", "y")
        here[f"{columns} column sums, {spec}"], _ = sends(lambda x: x.sum(axis=0), x, out_shardings=wanted)
    rounded = f"{P('x', 'y')} @ {P(None, 'y')}"
    assert differences("ch04_jit", here) == {rounded, "8 column sums, P()"}
    there = recorded("ch04_jit")
    assert there[rounded] * 2 == here[rounded] == there["the last, precision highest"]
    assert there["8 column sums, P()"] == 8 + 48 and here["8 column sums, P()"] == 8 + 24


def test_the_model_and_sums_of_chapter_5():
    def ask(x, *spec):
        return with_sharding_constraint(x, NamedSharding(AUTO, P(*spec)))

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
    grid, line = mesh(AxisType.Explicit, 2, 4), mesh(AxisType.Explicit, 8)
    here = {
        "sum of the table": sends(jnp.sum, empty((4, 8), "x", "y", on=grid))[0],
        "sum of x": sends(jnp.sum, empty((32,), "x", on=line, dtype=jnp.int32))[0],
        "argmax of x": sends(jnp.argmax, empty((32,), "x", on=line, dtype=jnp.int32))[0],
    }
    assert differences("ch06_shard_map", here) == {"sum of the table", "argmax of x"}
    there = recorded("ch06_shard_map")
    assert (here["sum of the table"], there["sum of the table"]) == (6 + 4, 7)
    assert there["argmax of x"] == 2 * here["argmax of x"] == 112
