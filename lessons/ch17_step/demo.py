# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% eight-devices
from functools import partial
from pathlib import Path

import minipod
from minipod import devices, traffic

devices.simulate(8)

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import P

# %% rows-of-text
from lessons.ch09_training.model import LAYER, LENGTH, init

lessons = Path(minipod.__file__).parents[1] / "lessons"
text = (lessons / "ch09_training/text.txt").read_bytes()
data = np.frombuffer(text, np.uint8)


def batch(i, rows=16):  # the same rows for the same i, as in Chapter 9
    first = np.random.default_rng(i).integers(0, len(data) - LENGTH, rows)
    return np.int32(data[first[:, None] + np.arange(LENGTH + 1)])


begin = jax.device_get(jax.jit(init)(jax.random.key(0)))
print(sum(w.size for w in begin.values()), "parameters")

# %% types-say-it
from explicit import layout, loss, not_whole, whole

mesh = jax.make_mesh((8, 1), ("data", "model"))
specs = layout("data")
with jax.set_mesh(mesh):
    up = jax.device_put(begin["up"], specs["up"])
    tokens = jax.device_put(batch(0), P("data"))
    full = whole("up", up, specs)
    for x in up, full, tokens:
        print(jax.typeof(x))

# %% two-places-ask
from minipod.expect import expect_error

with jax.set_mesh(mesh):
    embed = jax.device_put(begin["embed"], P())
    with expect_error(Exception, "out_sharding"):
        embed[tokens]
    x = embed.at[tokens].get(out_sharding=P("data"))
    print(jax.typeof(x))


# %% one-step
from lessons.ch09_training.adam import adam, start
from lessons.ch09_training.model import loss as loss_alone


def alone(state, tokens):
    value, g = jax.value_and_grad(loss_alone)(state["p"], tokens)
    return adam(state, g), value


def adam_step(state, tokens, specs):
    value, g = jax.value_and_grad(loss)(state["p"], tokens, specs)
    return adam(state, g), value


# %% train-alone
def train(run, state, place=jnp.asarray):
    values = []
    for i in range(20):
        state, value = run(state, place(batch(i)))
        values.append(float(value))
    return values


one = train(jax.jit(alone), start(begin))
print(f"one device: {one[0]:.7f} … {one[-1]:.5f}")


# %% train-on-a-mesh
def on_a_mesh(shape, specs):
    mesh = jax.make_mesh(shape, ("data", "model"))
    place = partial(jax.device_put, device=P("data"))
    with jax.set_mesh(mesh):
        places = {"p": specs, "m": specs, "v": specs, "n": P()}
        state = jax.device_put(start(begin), places)
        run = jax.jit(partial(adam_step, specs=specs))
        run = run.lower(state, place(batch(0))).compile()
        values = train(run, state, place)
    apart = np.abs(np.subtract(values, one)).max()
    sent = traffic.total(traffic.read(run.as_text(), mesh))
    assert apart < 1e-5
    print(f"{values[0]:.7f} … {values[-1]:.5f}, {sent:,} bytes sent")
    return run


# %% four-layouts
runs = {}
for name, shape, specs in (
    ("DP", (8, 1), layout()),
    ("FSDP", (8, 1), layout("data")),
    ("TP", (1, 8), layout(model="model")),
    ("FSDP × TP", (2, 4), layout("data", "model")),
):
    print(f"{name:10}", end="")
    runs[name] = on_a_mesh(shape, specs)

# %% fsdp-bill
traffic.table(traffic.read(runs["FSDP"].as_text(), mesh))


# %% by-rules
dimensions = {
    "up": ("layer", "width", "hidden"),
    "down": ("layer", "hidden", "width"),
}
rules = {"width": "data", "hidden": "model"}  # "layer" is not sharded
for name, each in dimensions.items():
    spec = P(*(rules.get(dimension) for dimension in each))
    print(f"{name:4} {spec}", spec == layout("data", "model")[name])


# %% whose-gradient
def squares(w, x):
    return jnp.sum((x @ w) ** 2)


gradient = jax.jit(jax.grad(squares))
with jax.set_mesh(mesh):
    rows = jax.device_put(np.ones((16, 4), np.float32), P("data"))
    for spec in P(), P(reduced={"data"}):
        w = jax.device_put(np.ones((4, 3), np.float32), spec)
        sent = traffic.total(traffic.of(gradient, w, rows))
        print(jax.typeof(w), "→", jax.typeof(gradient(w, rows)), end="  ")
        print(f"{sent} bytes sent")

# %% added-up
with jax.set_mesh(mesh):
    parts = gradient(w, rows)
    print([int(np.asarray(s.data)[0, 0]) for s in parts.addressable_shards])
    total = jax.jit(lambda g: jax.reshard(g, P()))
    print(int(total(parts)[0, 0]), traffic.total(traffic.of(total, parts)))

# %% not-everything
with jax.set_mesh(mesh):
    print(jax.typeof(parts + parts), jax.typeof(parts.astype("bfloat16")))
    for f in jnp.sin, lambda g: 2 * g, lambda g: g * g:
        with expect_error(Exception):
            f(parts)

# %% formula-first
size = sum(w.nbytes for w in begin.values())
sum_of_8 = 2 * 7 / 8  # what a device sends to sum a byte over 8 devices
print(f"{sum_of_8 * (size + 4 * 4):,.0f}")  # and 4 losses of 4 bytes


# %% sum-in-each-part
def sum_in_each_part(p, parts):
    def add(total, part):
        found = jax.value_and_grad(loss)(p, part, layout())
        return jax.tree.map(jnp.add, total, found), None

    zero = jnp.float32(0), jax.tree.map(jnp.zeros_like, p)
    total, _ = jax.lax.scan(add, zero, parts)
    return jax.tree.map(lambda x: x / len(parts), total)


# %% sum-once
from zero import CUT, STAGES, WHOLE, at, gradients, opt, state_specs, step


def place(i, parts=4):
    x = batch(i, 64).reshape(parts, -1, LENGTH + 1)
    return jax.device_put(x, P(None, "data"))


def sum_once(p, parts):
    return gradients(p, parts, WHOLE, WHOLE)


bills = {}
with jax.set_mesh(mesh):
    copies = jax.device_put(begin, WHOLE)
    for f in sum_in_each_part, sum_once:
        print(f"{f.__name__:16} loss {jax.jit(f)(copies, place(0))[0]:.6f}")
        bills[f.__name__] = traffic.of(f, copies, place(0))

# %% bill-in-each-part
traffic.table(bills["sum_in_each_part"])

# %% bill-once
traffic.table(bills["sum_once"])


# %% lost-on-auto
def where(state):
    leaves = jax.tree.leaves_with_path(state)
    return {str(x.sharding.spec) for path, x in leaves if "up" in str(path)}


kinds = jax.sharding.AxisType
for kind in kinds.Auto, kinds.Explicit:
    on = jax.make_mesh((8, 1), ("data", "model"), axis_types=(kind,) * 2)
    with jax.set_mesh(on):
        p = jax.device_put(begin, CUT)
        print(f"{kind.name:8}", *where(jax.jit(opt.init)(p)), end="  ")
        derived = state_specs(p, CUT)
        state = jax.jit(opt.init, out_shardings=derived)(p)
        print("derived:", *where(state))

# %% what-is-derived
for path, spec in jax.tree.leaves_with_path(derived):
    if "'up'" in str(path) or "count" in str(path):
        print(jax.tree_util.keystr(path), spec)

# %% state-drawn
from minipod import pictures

pictures.sharding(optax.tree_utils.tree_get(state, "mu")["embed"])

# %% other-shapes
factored = optax.adafactor(0.001, min_dim_size_to_factor=32)
state = jax.eval_shape(factored.init, begin)
for path, x in jax.tree.leaves_with_path(state):
    if "'up'" in str(path):
        print(jax.tree_util.keystr(path), x.shape)
with jax.set_mesh(mesh):
    with expect_error(ValueError):
        state_specs(jax.device_put(begin, CUT), CUT, factored)

# %% formulas
cut = sum(begin[name].nbytes for name in LAYER)  # gathered a second time


def held_and_sent(stage, parts=1, sent_as=4):  # bytes of a device
    part = size / 8  # what it keeps of an array that is cut
    held = {"DP": 3 * size, "ZeRO-3": 3 * part}.get(stage, size + 2 * part)
    sums = parts if stage in ("ZeRO-2", "ZeRO-3") else 1
    gathered = {"DP": 0, "ZeRO-3": parts * (size + cut)}.get(stage, size)
    summed = 2 * size if stage == "DP" else size
    return held, 7 / 8 * (sums * summed + gathered) * sent_as / 4


# %% alone-with-optax
def alone(p, state, tokens):
    value, g = jax.value_and_grad(loss_alone)(p, tokens)
    change, state = opt.update(g, state, p)
    return optax.apply_updates(p, change), state, value


# %% train-twenty
def train(run, p, state, place):  # the loss of each of 10 steps of 64 rows
    values = []
    for i in range(10):
        p, state, value = run(p, state, place(i))
        values.append(float(value))
    return np.array(values)


def apart(values):  # from one device's, at most
    return np.abs(values - one).max()


one = train(jax.jit(alone), begin, opt.init(begin), lambda i: batch(i, 64))
print(f"one device: {one[0]:.6f} … {one[-1]:.6f}")


# %% train-a-stage
def train_a_stage(stage, parts=1, **how):
    specs, _, o_specs = STAGES[stage]
    with jax.set_mesh(mesh):
        p = jax.device_put(begin, specs)
        state = jax.jit(opt.init)(at(p, o_specs))
        f = jax.jit(partial(step, stage=stage, **how), donate_argnums=(0, 1))
        run = f.lower(p, state, place(0, parts)).compile()
        return train(run, p, state, partial(place, parts=parts)), run


# %% stages
rows = {}
print("stage, parts, last loss; held and sent: found, and by the formula")
for name in "DP 1", "DP 4", "ZeRO-1 4", "ZeRO-2 4", "ZeRO-3 1":
    stage, parts = name.split()[0], int(name[-1])
    value, run = rows[stage, parts, "f32"] = train_a_stage(stage, parts)
    held, sent = held_and_sent(stage, parts)
    here = run.memory_analysis().argument_size_in_bytes
    assert apart(value) < 1e-5
    print(f"{stage:6} {parts} {value[-1]:.6f}", end="  ")
    print(f"held {here:9,} {held:11,.0f}", end="")
    found = traffic.total(traffic.read(run.as_text(), mesh))
    print(f"  sent {found:9,} {sent:11,.0f}")

# %% zero-on-a-tpu
from minipod.pods import recorded

here = lessons / "ch17_step"


def plan(name, on="v5e:2x4"):
    return recorded.plans(here, name, on)[0]


traffic.table(plan("zero_1").collectives)

# %% narrow
narrow = train_a_stage("ZeRO-3", dtype=jnp.bfloat16)
rows["ZeRO-3", 1, "bf16"] = narrow
wide = rows["ZeRO-3", 1, "f32"]
for name, (values, _) in ("f32", wide), ("bf16", narrow):
    print(f"{name:4} {values[-1]:.6f}, at most {apart(values):.0e} apart")
assert apart(narrow[0]) < 0.01
for name, (_, run) in ("f32", wide), ("bf16", narrow):
    print(f"CPU {name:5} {traffic.total(traffic.read(run.as_text(), mesh)):,}")
for name, planned in ("f32", "zero_3"), ("bf16", "zero_3_bf16"):
    print(f"v5e {name:5} {traffic.total(plan(planned).collectives):,}")

# %% narrow-on-a-tpu
for name in "zero_3", "zero_3_bf16":
    sums = {}
    for c in plan(name).collectives:
        kind = "gathers" if c.op == "all-gather" else "sums"
        sums[kind] = sums.get(kind, 0) + c.sent
    print(f"{name:12}", {kind: f"{sent:,.0f}" for kind, sent in sums.items()})

# %% narrow-masters
for dtype in jnp.float32, jnp.bfloat16:
    w = jnp.ones((), dtype)
    for _ in range(1000):
        w = w - jnp.asarray(0.001, dtype)
    print(f"{w.dtype}: 1 - 1000 × 0.001 = {w:.4f}")

# %% kept
from planned import KEPT


def peak(run):  # held, new and temporary
    m = run.memory_analysis()
    new = m.output_size_in_bytes - m.alias_size_in_bytes
    return m.argument_size_in_bytes + new + m.temp_size_in_bytes


with jax.set_mesh(mesh):
    many = jax.device_put(batch(0, 256), P("data"))
    for name, keep in KEPT.items():
        f = jax.value_and_grad(partial(loss, specs=WHOLE, keep=keep))
        run = jax.jit(f).lower(copies, many).compile()
        print(f"{name:8} loss {run(copies, many)[0]:.6f}", end="  ")
        print(f"peak {peak(run) / 1e6:5.1f} MB")


# %% kept-on-a-tpu
def row(name, on):
    found = plan(name, on)
    most, limit = (found.memory[k] / 1e9 for k in ("peak", "limit"))
    print(f"{name:13} peak {most:6.2f} of {limit:6.2f} GB", end="  ")
    if found.fits:
        products = sum(found.flops.values()) / 1e12
        sent = traffic.total(found.collectives) / 1e9
        print(f"products {products:6.2f} TFLOP, sent {sent:5.2f} GB")
    else:
        print("does not fit")
    return most


# %% large-models-on-a-tpu
for names, on in (
    (("one_dp", "one_all", "one_names", "one_nothing"), "v5e:4x4"),
    (("eight_all", "eight_names", "eight_nothing"), "v5p:2x2x4"),
):
    peaks = [row(name, on) for name in names]
    assert peaks == sorted(peaks, reverse=True)  # from row to row less

# %% to-the-host
print((here / "offload_tpu.txt").read_text())
for layers, on_each, widths in (20, 2, 2048 + 8192), (40, 4, 4096 + 16384):
    print(layers * on_each * 1024 * widths * 2 / 2**20, "MiB")

# %% choose-a-layout
from math import prod

from planned import EIGHT

from minipod import choose

params = sum(prod(shape) for shape in EIGHT.values())
mine = choose.model(params, rows=64, length=1024, layers=40, width=4096)
choices = choose.choices(mine, "v5p:2x2x4")
choose.table(choices)

# %% formula-and-plan
(paper,) = (c for c in choices if c.name == "FSDP")
found = plan("eight_nothing", "v5p:2x2x4")
sent = sum(paper.sent.values()), traffic.total(found.collectives)
pairs = {"held, GB": (paper.held, found.memory["peak"]), "sent, GB": sent}
pairs = {what: (a / 1e9, b / 1e9) for what, (a, b) in pairs.items()}
for what in "compute", "memory", "network":
    times = (getattr(each.seconds, what) for each in (paper, found))
    pairs[f"{what}, ms"] = tuple(1e3 * t for t in times)
print("             formula    plan  ratio")
for what, (a, b) in pairs.items():
    print(f"{what:12} {a:7.1f} {b:7.1f} {a / b:6.2f}")
once = 15 / 16 * 2 * params  # sent for each weight in bf16, once
for what, op in ("gathered", "all-gather"), ("summed", "all-reduce"):
    times = sum(c.sent for c in found.collectives if c.op == op) / once
    print(f"{what} {times:.1f} times, by {op}")

# %% all-rows
planned = "dp", "dp_parts", "zero_1", "zero_2", "zero_3", "zero_3_bf16"
on_v5e = dict(zip(rows, planned, strict=True))


def in_bytes(key, run):  # sent: formula, CPU, TPU; held and peak: CPU
    stage, parts, dtype = key
    _, sent = held_and_sent(stage, parts, 2 if dtype == "bf16" else 4)
    cpu = traffic.total(traffic.read(run.as_text(), mesh))
    tpu = traffic.total(plan(on_v5e[key]).collectives)
    held = run.memory_analysis().argument_size_in_bytes
    return sent, cpu, tpu, held, peak(run)


# %% table
print("KB, parts         away formula   CPU's   v5e's    held    peak")
for key, (value, run) in rows.items():
    stage, parts, dtype = key
    print(f"{stage:6} {parts} {dtype:4} {apart(value):8.0e}", end="")
    print(*(f"{n / 1e3:8,.0f}" for n in in_bytes(key, run)), sep="")


# %% policy-without-reshard
def nothing_gathered(primitive, *_, **__):
    return not primitive.name.startswith("all_gather")


with jax.set_mesh(mesh):
    p = jax.device_put(begin, CUT)
    tokens = jax.device_put(batch(0), P("data"))
    for keep in nothing_gathered, not_whole:
        f = jax.jit(jax.grad(partial(loss, specs=CUT, keep=keep)))
        run = f.lower(p, tokens).compile()
        temp = run.memory_analysis().temp_size_in_bytes
        sent = traffic.total(traffic.read(run.as_text(), mesh))
        print(f"{keep.__name__:17} temporary {temp:,}, sent {sent:,}")

# %% one-turn
for names, on in (
    (("no_loop", "one_turn", "four_turns"), "v5e:2x4"),
    (("large_no_loop", "large_one_turn"), "v5e:4x4"),
):
    for name in names:
        found = plan(name, on)
        products = sum(found.flops.values())
        sent = traffic.total(found.collectives)
        print(f"{name:14} products {products:22,.0f}, sent {sent:13,.0f}")

# %% clip-inside
g = jax.device_put(np.ones(16, np.float32), jax.NamedSharding(mesh, P("data")))
clip = jax.shard_map(
    optax.tree.norm,
    mesh=mesh,
    in_specs=P("data"),
    out_specs=P(),
    check_vma=False,
)
print("outside", jax.jit(optax.tree.norm)(g), "inside", clip(g))

# %% unequal-specs
a, b = (jax.NamedSharding(mesh, spec) for spec in (P("data"), P("data", None)))
print(a == b, a.is_equivalent_to(b, ndim=2))
