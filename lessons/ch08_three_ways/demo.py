# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% the-layer
from pathlib import Path

import minipod
from minipod import devices, pictures, traffic
from minipod.expect import expect_error

devices.simulate(8)

import jax
import jax.numpy as jnp
import numpy as np
from jax import NamedSharding, P, lax
from jax.sharding import AxisType


def layer(x, weights, bias):
    return jax.nn.sigmoid(x @ weights + bias)


# %% the-numbers
rng = np.random.default_rng(0)
x = rng.normal(size=(32,)).astype("f4")
weights = rng.normal(size=(32, 4)).astype("f4")
bias = rng.normal(size=(4,)).astype("f4")

exact = 1 / (1 + np.exp(-(x.astype(float) @ weights.astype(float) + bias)))
print(jax.jit(layer)(x, weights, bias))

# %% cut
auto = jax.make_mesh((8,), ("x",), axis_types=(AxisType.Auto,))
mesh = jax.make_mesh((8,), ("x",))


def cut(mesh):
    by_x, copies = NamedSharding(mesh, P("x")), NamedSharding(mesh, P())
    return jax.device_put((x, weights, bias), (by_x, by_x, copies))


print(*map(jax.typeof, cut(mesh)), sep="\n")

# %% picture-weights
pictures.sharding(cut(mesh)[1])

# %% by-jit
print(jax.jit(layer)(*cut(auto)))

# %% by-constraint
cut_by_x = NamedSharding(auto, P("x"))


def layer_auto(x, weights, bias):
    x = lax.with_sharding_constraint(x, cut_by_x)
    weights = lax.with_sharding_constraint(weights, cut_by_x)
    return layer(x, weights, bias)


print(jax.jit(layer_auto)(x, weights, bias))


# %% by-hand
@jax.shard_map(
    mesh=mesh,
    in_specs=(P("x"), P("x", None), P(None)),
    out_specs=P(None),
)
def layer_sharded(x, weights, bias):
    return jax.nn.sigmoid(lax.psum(x @ weights, "x") + bias)


print(jax.jit(layer_sharded)(*cut(mesh)))


# %% by-type
def layer_explicit(x, weights, bias):
    total = jnp.dot(x, weights, out_sharding=P(None))
    return jax.nn.sigmoid(total + bias)


with jax.set_mesh(mesh):
    print(jax.jit(layer_explicit)(*cut(mesh)))

# %% same-numbers
ways = {
    "jit": (layer, auto),
    "constraint": (layer_auto, auto),
    "shard_map": (layer_sharded, mesh),
    "explicit": (layer_explicit, mesh),
}
for name, (f, on) in ways.items():
    with jax.set_mesh(on):
        result = jax.jit(f)(*cut(on))
    print(f"{name:11} off by {abs(result - exact).max():.0e}")

# %% same-bill
for name, (f, on) in ways.items():
    with jax.set_mesh(on):
        for c in traffic.of(f, *cut(on)):
            print(f"{name:11} {c.op} of {c.bytes} bytes, {c.sent} sent")

# %% picture-bill
pictures.traffic(traffic.of(layer, *cut(auto)), auto)

# %% same-instructions
import re


def instructions(f, on):
    with jax.set_mesh(on):
        program = jax.jit(f).lower(*cut(on)).compile()
    return re.findall(r" = \S+ ([a-z-]+)\(", str(program.as_text()))


first = instructions(layer, auto)
print(len(first), "instructions, among them", first[-3:])
for name, (f, on) in ways.items():
    print(f"{name:11} the same:", instructions(f, on) == first)


# %% handed-copies
def copies(mesh):
    return jax.device_put((x, weights, bias), NamedSharding(mesh, P()))


for name, (f, on) in ways.items():
    if name != "shard_map":
        with jax.set_mesh(on):
            sent = traffic.total(traffic.of(f, *copies(on)))
            off = abs(jax.jit(f)(*copies(on)) - exact).max()
        print(f"{name:11} sends {sent:2} bytes, off by {off:.0e}")

# %% copies-refused
with expect_error(ValueError, "does not match the specs of the input"):
    layer_sharded(*copies(mesh))

# %% ways-on-a-tpu
lesson = Path(minipod.__file__).parents[1] / "lessons/ch08_three_ways"
print((lesson / "ways_tpu.txt").read_text())

# %% found-here
from lessons.ch08_three_ways import what_is_sent

print(what_is_sent.report(auto))

# %% found-on-a-tpu
print((lesson / "found_tpu.txt").read_text())

# %% which
from minipod.drawing import graph

messages, layout = "Who writes the messages?", "Who decides the layout?"
guess = "Does the compiler guess well?"
arrows = [
    (messages, "I do", "shard_map"),
    (messages, "the compiler", layout),
    (layout, "I do", "out_sharding"),
    (layout, "the compiler", guess),
    (guess, "yes", "jit"),
    (guess, "no", "with_sharding_constraint"),
]

# %% picture-which
g = graph.graph(nodesep="0.3", ranksep="0.5")
for name in (messages, layout, guess):
    graph.node(g, name, name, "function", 215)
for question, answer, then in arrows:
    if "?" not in then:
        graph.node(g, then, then, "device code", 16 + 7.3 * len(then))
    g.edge(question, then, label=f" {answer} ")
graph.render(g, "; ".join(f"{q} {a}: {then}" for q, a, then in arrows))


# %% mixed
grid = jax.make_mesh((2, 4), ("data", "x"), axis_types=(AxisType.Auto,) * 2)


@jax.jit
@jax.shard_map(
    mesh=grid,
    axis_names={"x"},
    in_specs=(P(None, "x"), P("x"), P()),
    out_specs=P(),
)
def partly(rows, weights, bias):
    print("inside:", rows.shape, weights.shape)
    return jax.nn.sigmoid(lax.psum(rows @ weights, "x") + bias)


# %% mixed-bill
batch = jax.device_put(np.tile(x, (16, 1)), NamedSharding(grid, P("data")))


def model(batch, weights, bias):
    return 1 - partly(batch, weights, bias)


print("outside:", batch.shape, weights.shape)
print("result: ", jax.jit(model)(batch, weights, bias).sharding.spec)
pictures.traffic(traffic.of(model, batch, weights, bias), grid)


# %% one-loop-for-all
def halvings(x):
    def more(state):
        return (state[0] > 1).any()

    def halve(state):
        value, count = state
        large = value > 1
        return jnp.where(large, value / 2, value), count + large

    return lax.while_loop(more, halve, (x, 0 * x))[1]


sizes = jax.device_put(2.0 ** jnp.arange(8), NamedSharding(auto, P("x")))
print(jax.jit(halvings)(sizes))
traffic.table(traffic.of(halvings, sizes))

# %% a-loop-for-each
alone = jax.shard_map(halvings, mesh=auto, in_specs=P("x"), out_specs=P("x"))
print(jax.jit(alone)(sizes))
traffic.table(traffic.of(alone, sizes))

# %% bias-eight-times
specs = {"in_specs": (P("x"), P("x"), P()), "out_specs": P()}


@jax.shard_map(mesh=mesh, **specs)
def before_the_sigmoid(x, weights, bias):
    return lax.psum(x @ weights + bias, "x")


wrong = before_the_sigmoid(*cut(mesh))
excess = np.asarray(wrong, float) - (x @ weights + bias)
print("times the bias too much:", (excess / bias).round(3))


# %% sum-of-sigmoids
@jax.shard_map(mesh=mesh, **specs)
def summed_too_late(x, weights, bias):
    return lax.psum(jax.nn.sigmoid(x @ weights + bias), "x")


print(summed_too_late(*cut(mesh)))
print(exact.astype("f4"))

# %% then-by-itself
x_sharded, weights_sharded, _ = cut(mesh)
with expect_error(Exception, "Contracting dimensions are sharded"):
    layer(x_sharded, weights_sharded, bias)

# %% then-layer-auto
sharding = NamedSharding(mesh, P("x"))


@jax.jit
def then_layer_auto(x, weights, bias):
    x = jax.lax.with_sharding_constraint(x, sharding)
    weights = jax.lax.with_sharding_constraint(weights, sharding)
    return layer(x, weights, bias)


with expect_error(ValueError, "can only refer to Auto axes"):
    then_layer_auto(x, weights, bias)

# %% then-layer-sharded
with expect_error(ValueError, "does not match the specs of the input"):
    jax.jit(layer_sharded)(x, weights, bias)
