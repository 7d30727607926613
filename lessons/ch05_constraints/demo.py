# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% half-used
from minipod import devices, pictures, traffic
from minipod.expect import expect_error

devices.simulate(8)

import jax
import jax.numpy as jnp
from jax import NamedSharding, P
from jax.lax import with_sharding_constraint
from jax.sharding import AxisType

auto = jax.make_mesh((2, 4), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
arr = jnp.arange(32.0).reshape(4, 8)
arr_sharded = jax.device_put(arr, NamedSharding(auto, P("x", "y")))


def f_contract(x):
    return x.sum(axis=0)


pictures.sharding(jax.jit(f_contract)(arr_sharded))


# %% a-word
def spread(x, *spec):
    out = x.sum(axis=0)
    return with_sharding_constraint(out, NamedSharding(auto, P(*spec)))


@jax.jit
def f_spread(x):
    return spread(x, ("x", "y"))


pictures.sharding(f_spread(arr_sharded))

# %% a-word-costs
traffic.table(traffic.of(f_spread, arr_sharded))


# %% another-order
def f_in_place(x):
    return spread(x, ("y", "x"))


traffic.table(traffic.of(f_in_place, arr_sharded))

# %% picture-in-place
pictures.sharding(jax.jit(f_in_place)(arr_sharded))


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


print("out  ", jax.jit(model_told)(batch, w1, w2).sharding.spec)
traffic.table(traffic.of(model_told, batch, w1, w2))


# %% a-larger-batch
large = jax.device_put(jnp.ones((64, 32)), batch.sharding)
print("out  ", jax.jit(model)(large, w1, w2).sharding.spec)
for rows in (batch, large):
    left_alone = traffic.total(traffic.of(model, rows, w1, w2))
    told = traffic.total(traffic.of(model_told, rows, w1, w2))
    print(f"{len(rows)} rows: left alone {left_alone:,} sent, told {told:,}")

# %% on-tpu
from pathlib import Path

import minipod

lesson = Path(minipod.__file__).parents[1] / "lessons/ch05_constraints"
print((lesson / "on_tpu.txt").read_text())

# %% three-verbs
mesh = jax.make_mesh((2, 4), ("x", "y"))
explicit = jax.device_put(arr, NamedSharding(mesh, P("x", "y")))
rows = NamedSharding(auto, P("x"))


def by(verb, sharding, x):
    result = jax.jit(lambda x: verb(2 * x, sharding))(x)
    return result.sharding.spec


print("constraint:", by(with_sharding_constraint, rows, arr_sharded))
print("device_put:", by(jax.device_put, rows, arr_sharded))
print("reshard:   ", by(jax.reshard, NamedSharding(mesh, P("x")), explicit))


# %% in-the-type
@jax.jit
def show_types(x):
    print("x       ", jax.typeof(x))
    print("2 * x   ", jax.typeof(2 * x))
    print("x.T     ", jax.typeof(x.T))
    print("x.sum(0)", jax.typeof(x.sum(axis=0)))
    return x


same = show_types(explicit)


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
w = ones((8, 4), "y", None)
with expect_error(Exception, "Contracting dimensions are sharded"):
    explicit @ w


def product(x, w):
    return jnp.dot(x, w, out_sharding=NamedSharding(mesh, P("x", None)))


print(jax.typeof(product(explicit, w)))
traffic.table(traffic.of(product, explicit, w))


# %% other-answers
def answer(spec):
    def product(x, w):
        return jnp.dot(x, w, out_sharding=NamedSharding(mesh, spec))

    sent = traffic.of(product, explicit, w)
    bill = [f"{c.sent} by {c.op}" for c in sent] or "nothing is sent"
    print(f"{jax.typeof(product(explicit, w))!s:21}", bill)


answer(P("x", None))
answer(P(None, None))
answer(P("x", None, unreduced={"y"}))


# %% set-mesh
def spread_out(x):
    return jax.reshard(x.sum(axis=0), P(("y", "x")))


with jax.set_mesh(mesh):
    print(jax.typeof(jax.jit(spread_out)(explicit)))
    table = traffic.table(traffic.of(spread_out, explicit))
table


# %% back-to-auto
@jax.sharding.auto_axes
def sorted_rows(x):
    return jnp.sort(x, axis=1)


with jax.set_mesh(mesh):
    with expect_error(Exception, "must be unsharded"):
        jnp.sort(explicit, axis=1)
    print(jax.typeof(sorted_rows(explicit, out_sharding=P("x", "y"))))


# %% not-your-axes
def ask(x):
    return with_sharding_constraint(x.sum(axis=0), NamedSharding(mesh, P("x")))


with expect_error(ValueError, "can only refer to Auto axes"):
    jax.jit(ask)(explicit)

# %% cut-through
with jax.set_mesh(mesh):
    with expect_error(Exception, "out_sharding"):
        explicit[0]
    print(jax.typeof(explicit.at[0].get(out_sharding=P("y"))))


# %% overruled
def model_overruled(batch, w1, w2):
    hidden = jnp.tanh(batch @ w1)
    return with_sharding_constraint(hidden, NamedSharding(auto, P())) @ w2


traffic.table(traffic.of(model_overruled, batch, w1, w2))


# %% then-f-contract-2
@jax.jit
def f_contract_2(x):
    out = x.sum(axis=0)
    sharding = jax.sharding.NamedSharding(mesh, P("x"))
    return jax.lax.with_sharding_constraint(out, sharding)


with expect_error(ValueError, "can only refer to Auto axes"):
    f_contract_2(explicit)


# %% then-two-parts
def two_parts(x):
    return spread(x, "x")


pictures.sharding(jax.jit(two_parts)(arr_sharded))

# %% then-two-parts-cost
traffic.table(traffic.of(two_parts, arr_sharded))
