# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% eight-devices
from dataclasses import replace
from functools import partial
from pathlib import Path

import minipod
from minipod import devices, pictures, traffic

devices.simulate(8)

import jax
import jax.numpy as jnp
import numpy as np
from jax import NamedSharding, P, lax
from jax.sharding import AxisType

# %% the-text
lesson = Path(minipod.__file__).parents[1] / "lessons/ch09_training"
data = np.frombuffer((lesson / "text.txt").read_bytes(), np.uint8)
print(len(data), "bytes:", bytes(data[:22]), "…")


# %% a-layer
def norm(x):
    return x * lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6)


def on_one(x, w):  # x: f32[rows, length, width]
    q, k, v = jnp.einsum("bsd,dthk->tbshk", norm(x), w["qkv"])
    heads = jax.nn.dot_product_attention(q, k, v, is_causal=True)
    x = x + jnp.einsum("bshk,hkd->bsd", heads, w["out"])
    return x + jax.nn.gelu(norm(x) @ w["up"]) @ w["down"]


# %% a-layer-by-hand
def on_each(x, w):  # this device's rows, and its pieces of the weights
    qkv = lax.all_gather(w["qkv"], "data", axis=0, tiled=True)
    out = lax.all_gather(w["out"], "data", axis=2, tiled=True)
    up = lax.all_gather(w["up"], "data", axis=0, tiled=True)
    down = lax.all_gather(w["down"], "data", axis=1, tiled=True)

    q, k, v = jnp.einsum("bsd,dthk->tbshk", norm(x), qkv)
    heads = jax.nn.dot_product_attention(q, k, v, is_causal=True)
    x = x + lax.psum(jnp.einsum("bshk,hkd->bsd", heads, out), "model")
    return x + lax.psum(jax.nn.gelu(norm(x) @ up) @ down, "model")


# %% its-layout
pieces = {
    "qkv": P("data", None, "model", None),  # width, 3, heads, width of a head
    "out": P("model", None, "data"),  # heads, width of a head, width
    "up": P("data", "model"),  # width, hidden
    "down": P("model", "data"),  # hidden, width
}
sizes = (64, 3, 8, 8), (8, 8, 64), (64, 256), (256, 64)
rng = np.random.default_rng(0)
pairs = zip(pieces, sizes, strict=True)
w = {name: np.float32(rng.normal(0, 0.08, size)) for name, size in pairs}
x = np.float32(rng.normal(size=(16, 32, 64)))

# %% the-same-layer
grid = jax.make_mesh((2, 4), ("data", "model"))
specs = {"in_specs": (P("data"), pieces), "out_specs": P("data")}
by_hand = jax.jit(jax.shard_map(on_each, mesh=grid, **specs))
with jax.set_mesh(grid):
    args = jax.device_put((x, w), (P("data"), pieces))
apart = np.abs(np.asarray(by_hand(*args)) - jax.jit(on_one)(x, w)).max()
print("largest difference from one device:", apart)
traffic.table(traffic.of(by_hand, *args))

# %% one-device
from adam import adam, start
from model import LAYER, LENGTH, WIDTH, init, layer, loss

STEPS = 40


def batch(i, rows=16):  # the same rows for the same i, whoever asks
    first = np.random.default_rng(i).integers(0, len(data) - LENGTH, rows)
    return np.int32(data[first[:, None] + np.arange(LENGTH + 1)])


def step(state, tokens):
    value, gradient = jax.value_and_grad(loss)(state["p"], tokens)
    return adam(state, gradient), value


# %% train-alone
def train(step, state, place=jnp.asarray):
    values = []
    for i in range(STEPS):
        state, value = step(state, place(batch(i)))
        values.append(float(value))
    return values


begin = jax.device_get(jax.jit(start)(init(jax.random.key(0))))
losses = {"one": train(jax.jit(step), jax.device_put(begin))}
print(sum(w.size for w in begin["p"].values()), "parameters")
first, last = losses["one"][0], losses["one"][-1]
print(f"loss of a guess {np.log(256):.3f}, start {first:.3f}, end {last:.3f}")

# %% picture-curve
pictures.curve({"one device": losses["one"]})

# %% train-on-a-mesh
from parallel import layout, parallel

meshes, programs, states = {}, {}, {}


def train_on(name, shape, specs):
    mesh = meshes[name] = jax.make_mesh(shape, ("data", "model"))
    step, places = parallel(specs)
    place = partial(jax.device_put, device=P("data"))
    with jax.set_mesh(mesh):
        state = states[name] = jax.device_put(begin, places)
        programs[name] = jax.jit(step).lower(state, place(batch(0))).compile()
        losses[name] = train(programs[name], state, place)
    return traffic.table(traffic.read(programs[name].as_text(), mesh))


# %% data-parallel
train_on("DP", (8, 1), layout())

# %% same-as-alone
apart = np.subtract(losses["DP"], losses["one"])
print("largest difference in", STEPS, "steps:", np.abs(apart).max())

# %% fully-sharded
train_on("FSDP", (8, 1), layout("data"))

# %% picture-logits
pictures.sharding(states["FSDP"]["p"]["logits"])

# %% only-a-layout
auto = jax.make_mesh((8, 1), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
_, places = parallel(layout("data"))


def automatic(name, step):
    jitted = jax.jit(step, out_shardings=(places, None))
    with jax.set_mesh(auto):
        state = states[name] = jax.device_put(begin, places)
        rows = jax.device_put(batch(0), P("data"))
        programs[name] = jitted.lower(state, rows).compile()
    meshes[name] = auto
    print("first loss", programs[name](state, rows)[1])
    return traffic.table(traffic.read(programs[name].as_text(), auto))


automatic("only a layout", step)

# %% with-constraints
from constraints import by_constraints

automatic("FSDP, auto", by_constraints(layout("data")))

# %% recorded-tpu
print((lesson / "fsdp_tpu.txt").read_text())


# %% weights-kept-whole
def all_gather_alone(primitive, *_, **__):
    return not primitive.name.startswith("all_gather")


kept = by_constraints(layout("data"), keep=all_gather_alone)
automatic("kept whole", kept)

# %% tensor-parallel
train_on("TP", (1, 8), layout(model="model"))

# %% both
train_on("FSDP × TP", (2, 4), layout("data", "model"))

# %% picture-both
found = traffic.read(programs["FSDP × TP"].as_text(), meshes["FSDP × TP"])
one_of_each = {(c.op, c.axes): c for c in found}.values()
pictures.traffic(list(one_of_each), meshes["FSDP × TP"])

# %% train-by-constraints
with jax.set_mesh(auto):
    place = partial(jax.device_put, device=P("data"))
    name = "FSDP, auto"
    losses[name] = train(programs[name], states[name], place)

# %% all-losses
print("step", *(f"{name:>10}" for name in losses))
for i in range(9, STEPS, 10):
    print(f"{i + 1:4}", *(f"{each[i]:10.6f}" for each in losses.values()))
for name, each in losses.items():
    apart = np.abs(np.subtract(each, losses["one"])).max()
    print(f"{name:10} at most {apart:.0e} away from one device")


# %% memory-and-bytes
def held_and_sent(rest, cut, x):  # bytes on a device, and sent in a step
    total, sum_of_8 = rest + cut, 2 * 7 / 8
    by_data = 1 / 2 * (2 * rest + 3 * cut / 4)
    return {
        "DP": (total, sum_of_8 * total),
        "FSDP": (total / 8, 7 / 8 * (2 * total + cut)),
        "TP": (rest + cut / 8, sum_of_8 * 16 * x),
        "FSDP × TP": (rest / 2 + cut / 8, by_data + 2 * 3 / 4 * 16 * x / 2),
    }


cut = sum(begin["p"][name].nbytes for name in LAYER)
rest = sum(w.nbytes for w in begin["p"].values()) - cut
x = 4 * 16 * LENGTH * WIDTH  # bytes of f32[16, LENGTH, WIDTH]
formulas = held_and_sent(rest, cut, x)

# %% memory-and-bytes-found
print("            held    formula       sent    formula  ÷ DP's")
for name, (held, sent) in formulas.items():
    arrays = states[name]["p"].values()
    here = sum(w.addressable_shards[0].data.nbytes for w in arrays)
    found = traffic.read(programs[name].as_text(), meshes[name])
    print(f"{name:10} {here:7,} {held:10,.0f}", end=" ")
    print(f"{traffic.total(found):11,.0f} {sent:10,.0f}", end=" ")
    print(f"{sent / formulas['DP'][1]:7.2f}")

# %% what-it-takes
link = traffic.LINKS["NVLink 4 (H100)"]
wire = replace(link, start=0, latency=0)  # what its bytes alone would take
print("KB               held     new    temp    peak    sent", end="")
print(" messages     time by bytes")
for name, program in programs.items():
    found = traffic.read(program.as_text(), meshes[name])
    memory = program.memory_analysis()
    held = memory.argument_size_in_bytes
    new = memory.output_size_in_bytes - memory.alias_size_in_bytes
    temp = memory.temp_size_in_bytes
    kb = (held, new, temp, held + new + temp, traffic.total(found))
    us = [1e6 * traffic.seconds(found, on, meshes[name]) for on in (link, wire)]
    print(f"{name:13}", *(f"{n / 1e3:7,.0f}" for n in kb), end=" ")
    print(f"{sum(c.times for c in found):8} {us[0]:5.1f} µs {us[1]:5.1f} µs")

# %% on-a-tpu
from minipod.pods.recorded import plans


def on_tpu(name):  # bytes: held, new, temp, and all three
    (plan,) = plans(lesson, name, "v5e:2x4")
    m = plan.memory
    parts = m["arguments"], m["outputs"] - m["aliased"], m["temporaries"]
    return *parts, sum(parts)


# %% peaks-on-a-tpu
on_v5e = {
    "DP": "dp_kept",
    "FSDP": "fsdp_kept",
    "only a layout": "only_layout",
    "FSDP, auto": "auto",
    "kept whole": "whole",
    "TP": "tp_kept",
    "FSDP × TP": "fsdp_tp_kept",
}
print("KB, TPU v5e      held     new    temp    peak    sent messages")
for name, planned in on_v5e.items():
    (plan,) = plans(lesson, planned, "v5e:2x4")
    kb = (*on_tpu(planned), traffic.total(plan.collectives))
    print(f"{name:13}", *(f"{n / 1e3:7,.0f}" for n in kb), end=" ")
    print(f"{sum(c.times for c in plan.collectives):8}")

# %% peaks-of-a-large-model
print("202 M parameters, the state donated: MB at the peak")
print("rows           16    512")
for name in "dp", "fsdp", "tp":
    sizes = (f"large_{name}_donated{rows}" for rows in ("", "_512"))
    print(f"{name:10}", *(f"{on_tpu(size)[-1] / 1e6:6,.0f}" for size in sizes))

# %% thirty-two-times
k = 32  # WIDTH and HIDDEN, and so the matrices of the layers k times k
large = held_and_sent(k * rest, k * k * cut, k * x)
for name, (_, sent) in large.items():
    print(f"{name:10} {sent / 1e6:6,.0f} MB {sent / large['DP'][1]:5.2f}")

# %% same-dice
line = jax.make_mesh((8,), ("data",))


def each_device(draw):
    return jax.shard_map(draw, mesh=line, in_specs=P(), out_specs=P("data"))


key = jax.random.key(1)
same = each_device(lambda key: jax.random.bernoulli(key, 0.5, (1, 12)))
print(np.asarray(same(key), int)[:3])

# %% own-dice


def own_dice(key):
    mine = jax.random.fold_in(key, lax.axis_index("data"))
    return jax.random.bernoulli(mine, 0.5, (1, 12))


print(np.asarray(each_device(own_dice)(key), int)[:3])

# %% dice-without-devices


def dice_over(n):
    over = jax.make_mesh((n,), ("data",), devices=jax.devices()[:n])
    rows = NamedSharding(over, P("data"))
    draw = partial(jax.random.bernoulli, p=0.5, shape=(8, 12))
    return np.asarray(jax.jit(draw, out_shardings=rows)(key))


print([bool((dice_over(n) == dice_over(1)).all()) for n in (1, 2, 8)])


# %% less-memory
from accumulated import accumulated

big, params = jnp.asarray(batch(0, rows=64)), jax.device_put(begin["p"])


def measure(name, *static):
    jitted = jax.jit(lambda params, big: accumulated(params, big, *static))
    compiled = jitted.lower(params, big).compile()
    megabytes = compiled.memory_analysis().temp_size_in_bytes / 1e6
    value, gradient = compiled(params, big)
    size = sum(jnp.sum(g * g) for g in jax.tree.leaves(gradient))
    print(f"{name:30} {megabytes:5.1f} MB, {value:.6f}, {size:.6f}")


measure("64 rows at once", 1)
measure("4 times 16 rows", 4)
measure("64 rows, layers rematerialised", 1, lambda *_, **__: False)

# %% less-memory-on-a-tpu
for name in "at_once", "in_parts", "rematerialised":
    print(f"TPU v5e, {name:15} {on_tpu(name)[2] / 1e6:5.1f} MB")

# %% donation
import warnings

from minipod.expect import expect_error


def shrink(w):
    return 0.9 * w


old = jax.device_put(jnp.ones((1024, 1024)), NamedSharding(line, P("data")))
for donated in (), (0,):
    shrunk = jax.jit(shrink, donate_argnums=donated)
    memory = shrunk.lower(old).compile().memory_analysis()
    shared = memory.alias_size_in_bytes
    both = memory.argument_size_in_bytes + memory.output_size_in_bytes - shared
    print(f"donated {donated!s:4} shared {shared:7,}, together {both:9,} bytes")


# %% same-place
def addresses(x):
    return [s.data.unsafe_buffer_pointer() for s in x.addressable_shards]


before = addresses(old)
new = shrunk(w=old)
print("the same memory:", addresses(new) == before)
with expect_error(RuntimeError, "Array has been deleted"):
    np.asarray(old)

# %% not-usable
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    whole = NamedSharding(line, P())
    moved = jax.jit(shrink, donate_argnums=0, out_shardings=whole)
    moved.lower(new).compile()
print(str(caught[0].message).splitlines()[0])


# %% pipeline
def pipeline(w, x):  # w: my layer. x: f32[parts, rows, LENGTH, WIDTH]
    me, parts = lax.axis_index("stage"), len(x)
    w, to_next = {name: a[0] for name, a in w.items()}, [(0, 1), (1, 2), (2, 3)]

    def tick(received, t):
        first = x[jnp.minimum(t, parts - 1)]
        out = layer(jnp.where(me == 0, first, received), w, lambda part: part)
        at_work = jnp.where((t >= me) & (t < me + parts), t - me, -1)
        return lax.ppermute(out, "stage", to_next), (out, at_work)

    nothing = lax.pcast(jnp.zeros_like(x[0]), "stage", to="varying")
    _, (outs, log) = lax.scan(tick, nothing, jnp.arange(parts + 3))
    return outs[None, 3:], log[None]


# %% run-the-pipeline
stages = jax.make_mesh((4,), ("stage",), devices=jax.devices()[:4])
specs = {"in_specs": (P("stage"), P()), "out_specs": P("stage")}
piped = jax.jit(jax.shard_map(pipeline, mesh=stages, **specs))

layers = {name: begin["p"][name] for name in LAYER}
layers = jax.device_put(layers, NamedSharding(stages, P("stage")))
x = jax.random.normal(key, (6, 2, LENGTH, WIDTH))
x = jax.device_put(x, NamedSharding(stages, P()))
outs, log = piped(layers, x)
ticks = np.asarray(log).T  # which microbatch is at which stage
pictures.play([["" if part < 0 else part for part in t] for t in ticks])

# %% pipeline-alone
alone = np.asarray(x).reshape(12, LENGTH, WIDTH)
for i in range(4):
    w = {name: begin["p"][name][i] for name in LAYER}
    alone = layer(alone, w, lambda part: part)
last = np.asarray(outs)[3].reshape(alone.shape)
print("largest difference from one device:", np.abs(last - alone).max())

# %% pipeline-bill
traffic.table(traffic.of(piped, layers, x))


# %% pipeline-and-back
def loss_of_outputs(layers, x):
    return jnp.sum(piped(layers, x)[0] ** 2)


traffic.table(traffic.of(jax.grad(loss_of_outputs), layers, x))


# %% eight-times
def squares(w, x):
    return jnp.mean((x @ w) ** 2)


def as_under_pmap(w, x):
    return lax.pmean(jax.grad(squares)(w, x), "data")


specs = {"in_specs": (P(), P("data")), "out_specs": P()}
ported = jax.shard_map(as_under_pmap, mesh=line, **specs)
w = np.ones(3, np.float32)
table = np.float32(np.arange(48).reshape(16, 3)) / 48
cut = jax.device_put(table, NamedSharding(line, P("data")))
right = jax.grad(squares)(w, table)
print("too large by", np.asarray(ported(w, cut)) / np.asarray(right))

# %% adam-hides-it
small = start({"w": jnp.asarray(w)})
once = adam(small, {"w": right})
eight = adam(small, {"w": 8 * right})
print("difference after Adam:", once["p"]["w"] - eight["p"]["w"])


# %% nobody-sums
def mean_first(w, x):
    return jax.grad(lambda w: lax.pmean(squares(w, x), "data"))(w)


for f in (as_under_pmap, mean_first):
    for check in (True, False):
        mapped = jax.shard_map(f, mesh=line, check_vma=check, **specs)
        times = np.asarray(mapped(w, cut)) / np.asarray(right)
        print(f"{f.__name__:13} check_vma={check!s:5}", times.round(3))


# %% average-not-sum
def both_ways(w):
    return lax.psum(w, "data"), lax.pmean(w, "data")


copies = jax.shard_map(both_ways, mesh=line, in_specs=P(), out_specs=P())
print("psum", copies(w)[0], "pmean", copies(w)[1])


# %% forgotten-donation
def bytes_of(name, donated, f, second):
    jitted = jax.jit(f, donate_argnums=donated)
    memory = jitted.lower(state, second).compile().memory_analysis()
    new = memory.output_size_in_bytes - memory.alias_size_in_bytes
    held, temp = memory.argument_size_in_bytes, memory.temp_size_in_bytes
    print(f"{name:10} {held:9,} {new:11,} {temp:11,} {held + new + temp:11,}")


print("                held   new state        temp         all")
with jax.set_mesh(meshes["DP"]):
    state, rows = states["DP"], jax.device_put(batch(0), P("data"))
    for donated in ((), (0,)):
        print("donated:", bool(donated))
        bytes_of("Adam", donated, adam, state["p"])
        bytes_of("DP's step", donated, parallel(layout())[0], rows)

# %% donation-on-a-tpu
print("TPU v5e            kept       donated")
for name in "dp", "fsdp", "large_dp", "large_fsdp":
    kept, donated = (on_tpu(f"{name}_{how}")[-1] for how in ("kept", "donated"))
    saved = 1 - donated / kept
    print(f"{name:10} {kept:13,} {donated:13,}  {saved:4.0%} saved")

# %% then-other-numbers
now = jax.random.normal(key, (3,))
with jax.threefry_partitionable(False):
    then = jax.random.normal(key, (3,))
print("today's default:", jax.config.jax_threefry_partitionable)
print("now ", now)
print("then", then)
