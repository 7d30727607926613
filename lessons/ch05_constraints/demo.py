# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% a-constraint
from minipod import devices, pictures, traffic
from minipod.expect import expect_error

devices.simulate(8)

import jax
import jax.numpy as jnp
from jax import NamedSharding, P
from jax.lax import with_sharding_constraint
from jax.sharding import AxisType

auto = jax.make_mesh((2, 4), ("x", "y"), axis_types=(AxisType.Auto,) * 2)


eighths = NamedSharding(auto, P(("x", "y")))


def doubled(x):
    return with_sharding_constraint(2 * x, eighths)


print("16 rows:", jax.jit(doubled)(jnp.ones((16, 4))).sharding.spec)


# %% padded-inside
def total(x, w):
    return jnp.exp(doubled(x) @ w).sum()


def shared(n, flops):
    each = round(flops / (2 * w.size))  # one row times w: 2 * 256 * 512 FLOPs
    idle = 1 - n / (8 * each)
    print(f"{n} rows: {each} on each of 8 devices, {idle:.0%} padding", end="")


w = jnp.ones((256, 512))
for n in 16, 12, 17:
    x = jnp.zeros((n, 256))  # exp(0) is 1: this sum counts rows
    program = jax.jit(total).lower(x, w).compile()
    shared(n, program.cost_analysis()["flops"])
    print(f"; counted: {program(x, w) / 512:.0f}")

# %% padded-on-tpu
from pathlib import Path

import minipod
from minipod.pods.recorded import plans

lesson = Path(minipod.__file__).parents[1] / "lessons/ch05_constraints"
for n in 16, 12, 17:
    (plan,) = plans(lesson, f"rows_{n}", "v5e:2x4")
    shared(n, plan.flops["f32"])
    print()

# %% even-at-the-edge
for n in 17, 6:
    x = jnp.ones((n, 4))
    sent = traffic.total(traffic.of(doubled, x))
    print(f"{n} rows: {jax.jit(doubled)(x).sharding.spec}, {sent} bytes sent")

with expect_error(ValueError, "is 17"):
    jax.jit(jnp.sin, out_shardings=NamedSharding(auto, P("x")))(jnp.ones(17))


# %% a-long-way
def totals(x):
    return jnp.cumsum(x, axis=1)


sales = jax.device_put(jnp.ones((16, 32)), NamedSharding(auto, P("x", "y")))
traffic.table(traffic.of(totals, sales))


# %% whole-rows
def totals_by_row(x):
    whole = NamedSharding(auto, P(("x", "y"), None))
    return jnp.cumsum(with_sharding_constraint(x, whole), axis=1)


traffic.table(traffic.of(totals_by_row, sales))

# %% picture-all-to-all
pictures.traffic(traffic.of(totals_by_row, sales), auto)

# %% the-batch-is-gathered
shapes = {"batch": (16, 32), "w1": (32, 64), "w2": (64, 32)}
specs = {"batch": P("x", None), "w1": P("x", "y"), "w2": P("y", "x")}
batch, w1, w2 = (
    jax.device_put(jnp.ones(shapes[name]), NamedSharding(auto, specs[name]))
    for name in shapes
)


def model(batch, w1, w2):
    return jnp.tanh(batch @ w1) @ w2


print("batch", batch.sharding.spec)
print("out  ", jax.jit(model)(batch, w1, w2).sharding.spec)
traffic.table(traffic.of(model, batch, w1, w2))


# %% keep-the-batch-apart
def model_told(batch, w1, w2):
    out = model(batch, w1, w2)
    return with_sharding_constraint(out, NamedSharding(auto, P("x", None)))


large = jax.device_put(jnp.ones((64, 32)), batch.sharding)
for rows in batch, large:
    for program in model, model_told:
        out = jax.jit(program)(rows, w1, w2).sharding.spec
        sent = traffic.total(traffic.of(program, rows, w1, w2))
        print(
            f"{len(rows)} rows, {program.__name__:10} {out!s:12} {sent:,} sent"
        )

# %% on-tpu
print((lesson / "on_tpu.txt").read_text())

# %% three-verbs
mesh = jax.make_mesh((2, 4), ("x", "y"))
arr = jnp.arange(32.0).reshape(4, 8)
managed = jax.device_put(arr, NamedSharding(auto, P("x", "y")))
explicit = jax.device_put(arr, NamedSharding(mesh, P("x", "y")))


def by(verb, on, x):
    moved = jax.jit(lambda x: verb(2 * x, NamedSharding(on, P("x"))))
    return moved(x).sharding.spec


print("constraint:", by(with_sharding_constraint, auto, managed))
print("device_put:", by(jax.device_put, auto, managed))
print("reshard:   ", by(jax.reshard, mesh, explicit))


# %% in-the-type
@jax.jit
def show_types(x):
    for name, y in ("2 * x", 2 * x), ("x.T", x.T), ("x.sum(0)", x.sum(0)):
        print(f"{name:8}", jax.typeof(y))


show_types(explicit)


# %% the-rule
def ones(shape, *spec):
    return jax.device_put(jnp.ones(shape), NamedSharding(mesh, P(*spec)))


column, row = ones((4, 1), "x", None), ones((1, 8), None, "y")
print(jax.typeof(column), "+", jax.typeof(row), "=", jax.typeof(column + row))
with expect_error(Exception, "incompatible shardings"):
    ones((4, 8), "x", None) + ones((4, 8), "y", None)
with expect_error(Exception, "illegally sharded"):
    column + ones((1, 8), None, "x")

# %% you-decide
from functools import partial

w = ones((8, 4), "y", None)
with expect_error(Exception, "Contracting dimensions are sharded"):
    explicit @ w


def product(x, w, spec):
    return jnp.dot(x, w, out_sharding=NamedSharding(mesh, spec))


last = P("x", None, unreduced={"y"})
for spec in P("x", None), P("x", "y"), P(None, None), last:
    answer = partial(product, spec=spec)
    bill = [f"{c.sent} by {c.op}" for c in traffic.of(answer, explicit, w)]
    print(f"{jax.typeof(answer(explicit, w))!s:21}", bill)


# %% back-to-auto
@jax.sharding.auto_axes
def sorted_rows(x):
    return jnp.sort(x, axis=1)


with jax.set_mesh(mesh):
    print(jax.typeof(explicit.at[0].get(out_sharding=P("y"))))
    with expect_error(Exception, "must be unsharded"):
        jnp.sort(explicit, axis=1)
    print(jax.typeof(sorted_rows(explicit, out_sharding=P("x", "y"))))


# %% overruled
def model_overruled(batch, w1, w2):
    hidden = jnp.tanh(batch @ w1)
    return with_sharding_constraint(hidden, NamedSharding(auto, P())) @ w2


traffic.table(traffic.of(model_overruled, batch, w1, w2))


# %% then-f-contract-2
def f_contract_2(x, mesh):
    out = x.sum(axis=0)
    sharding = jax.sharding.NamedSharding(mesh, P("x"))
    return jax.lax.with_sharding_constraint(out, sharding)


with expect_error(ValueError, "can only refer to Auto axes"):
    jax.jit(lambda x: f_contract_2(x, mesh))(explicit)

# %% then-two-parts
two_parts = jax.jit(lambda x: f_contract_2(x, auto))
print(two_parts(managed).sharding.spec)
traffic.table(traffic.of(two_parts, managed))
