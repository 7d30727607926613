# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# A script leaves nothing behind: it runs in a folder that goes when it ends.
import atexit
import os
import shutil
import tempfile

os.chdir(scratch := tempfile.mkdtemp())
atexit.register(shutil.rmtree, scratch, ignore_errors=True)

# %% begin
import shutil
import sys
from functools import partial
from pathlib import Path

import minipod
from minipod import devices, traffic
from minipod.cluster import run

devices.simulate(8)
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import NamedSharding, P

lesson = Path(minipod.__file__).parents[1] / "lessons/ch23_from_pytorch"
sys.path.append(str(lesson))
shutil.rmtree("saved", ignore_errors=True)  # an earlier reading of this page

# %% recorded
from rows import batch, recorded

print("torch", recorded["versions"]["torch"], "on", recorded["date"])
print(recorded["printed"]["f32"])

# %% weights
from twin import How, library, loss, optimizer, step, taken

there = dict(np.load(lesson / "start.npz"))
here = taken(there)
print(len(there), "arrays,", sum(w.size for w in there.values()), "numbers")
for name in "embed.weight", "blocks.0.up.weight", "blocks.0.out.weight":
    print(f"{name:20} {there[name].shape!s:9} -> {here[name].shape}")

# %% first-loss
theirs = recorded["losses"]["f32"][0]
ours = float(jax.jit(loss)(here, batch(0).reshape(32, -1)))
print(f"PyTorch {theirs:.7f}, JAX {ours:.7f}: {abs(ours / theirs - 1):.0e}")


# %% forty-steps
SHOWN = 0, 1, 5, 20, 39  # steps


def losses(how, dtype):
    w = {n: jnp.asarray(x, dtype) for n, x in here.items()}
    state, values = (w, optimizer(how).init(w)), []
    run = jax.jit(partial(step, how=how))
    for i in range(40):
        state, value = run(state, batch(i))
        values.append(float(value))
    return np.array(values)


def compare(name, of, dtype, **change):
    off = losses(How(**change), dtype) / recorded["losses"][of] - 1
    print(f"{name:28}", *(f"{abs(off[i]):9.0e}" for i in SHOWN))


# %% in-f32
first = {
    "all as in PyTorch": {},
    "LayerNorm's eps 1e-6": {"eps": 1e-6},
    "gelu with tanh": {"tanh": True},
    "weight_decay 1e-4": {"decay": 1e-4},
    "beta2 0.99": {"beta2": 0.99},
    "Optax's own clip": {"extra": 0.0},
    "dot_product_attention": {"own": False},
}
steps = "".join(f"{i:10}" for i in SHOWN)
print(f"{'f32, step':28}{steps}")
for name, change in first.items():
    compare(name, "f32", "float32", **change)

# %% in-f64
print(f"{'f64, step':28}{steps}")
with jax.enable_x64(True):
    for name, change in first.items():
        compare(name, "f64", "float64", **change)

# %% found-by-f64
with jax.enable_x64(True):
    q = jnp.zeros((1, 4, 2, 8))
    traced = jax.make_jaxpr(library)(q, q, q)
print("in:", q.dtype)
lines = traced.pretty_print(use_color=False).splitlines()
print(*(x.strip() for x in lines if " exp " in x))

# %% in-nnx
import json

nnx = json.loads((lesson / "nnx.json").read_text())
print(nnx["date"], nnx["versions"])
for kind in "f32", "f64":
    off = np.divide(nnx[kind], recorded["losses"][kind]) - 1
    print(f"NNX, {kind}{'':20}", *(f"{abs(off[i]):9.0e}" for i in SHOWN))

# %% two-processes
trained = partial(run, "train.py", limit=300)  # seconds: a laptop is slow
trained("saved/two", "0", "40", processes=2, devices=1)

# %% eight-devices
trained("saved/eight", "0", "40", processes=2, devices=4)

# %% sharded
kind = (jax.sharding.AxisType.Auto,)
two = jax.make_mesh((2,), ("data",), kind, devices=jax.devices()[:2])
rows = NamedSharding(two, P(None, "data"))
with jax.enable_x64(True):
    w = {n: jnp.asarray(x, "float64") for n, x in here.items()}
    state, values = (w, optimizer().init(w)), []
    places = jax.tree.map(
        lambda x: NamedSharding(two, P("data") if x.ndim else P()), state
    )
    advance = jax.jit(step, out_shardings=(places, None))
    state = jax.device_put(state, places)
    for i in range(40):
        state, value = advance(state, jax.device_put(batch(i), rows))
        values.append(float(value))

# %% sharded-alike
held = recorded["held"]
mine = sum(x.addressable_shards[0].data.size for x in state[0].values())
print(f"{'DDP':12} holds {held['f64']:,}")
alike = recorded["losses"]["sharded"]
for name, n, found in (
    ("fully_shard", held["sharded"], alike),
    ("JAX, sharded", mine, values),
):
    off = abs(np.divide(found, recorded["losses"]["f64"]) - 1).max()
    print(f"{name:12} holds {n:,}, losses at most {off:.0e} from DDP's")

# %% who-sums-ddp
table = np.linspace(-1, 1, 13 * 4).reshape(13, 4) ** 3


def mean_square(w, x, weight):
    return jnp.sum(weight * (x @ w) ** 2) / jnp.sum(weight)


slope = jax.grad(mean_square)
of_12 = np.asarray(slope(jnp.ones(4), table[:12], np.ones(12)))
for name in "alone", "DDP":
    each = [np.array(rank[name]["gradient"]) for rank in recorded["sums"]]
    times = [np.vdot(g, of_12) / np.vdot(of_12, of_12) for g in each]
    print(f"{name:6}", *(f"{t:.4f}" for t in times))

# %% one-gradient
from who import loss as small_loss
from who import ways

auto = jax.make_mesh((8,), ("data",), (jax.sharding.AxisType.Auto,))
w = jax.random.normal(jax.random.key(0), (16, 4))
x = jax.random.normal(jax.random.key(1), (32, 16))
right = np.asarray(jax.grad(small_loss)(w, x))


def multiple(g):
    return np.vdot(g, right) / np.vdot(right, right)


# %% who-sums
print("                                    device 0  device 7    sent")
for name, f, mesh in ways():
    args = w, x.reshape(8, 4, -1)  # for pmap
    if mesh:
        places = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))
        args = jax.device_put((w, x), places)
    held = {s.device.id: s.data for s in f(*args).addressable_shards}
    times = [multiple(held[i].reshape(right.shape)) for i in (0, 7)]
    sent = traffic.total(traffic.read(f.lower(*args).compile().as_text()))
    print(f"{name:36}", *(f"{t:8.4f} " for t in times), f"{sent:6,}")

# %% accumulated
from accumulated import ROWS, WAYS, program

w = jax.random.normal(jax.random.key(0), (64, 16))
xs = jax.random.normal(jax.random.key(1), (4, 32, 64))  # micro-batches first
right = jax.grad(lambda w: small_loss(w, xs.reshape(-1, 64)))(w)
print("4 micro-batches                         sent   differs by")
for name in WAYS:
    f, mesh = program(name, auto)
    with jax.set_mesh(mesh):
        args = jax.device_put((w, xs), (P(), ROWS))
        sent = traffic.total(traffic.of(f, *args))
        off = abs(f(*args) - right).max()
    print(f"{name:35} {sent:8,} {off:12.0e}")

# %% accumulated-tpu
from minipod.pods.recorded import plans

for name in "auto", "mapped", "copied":
    (plan,) = plans(lesson, name, "v5e:2x4")
    print(f"{name:7} {traffic.total(plan.collectives):6,}", end="  ")
    print(plan.on, "libtpu", plan.versions["libtpu"])

# %% uneven
of_13 = np.asarray(slope(jnp.ones(4), table, np.ones(13)))
dealt = [rank["DDP, sampler"]["rows"] for rank in recorded["sums"]]
print("the sampler deals", *dealt)
for name in "DDP, 8 and 5 rows", "DDP, sampler":
    g = np.array(recorded["sums"][0][name]["gradient"])
    print(f"{name:18} off by {abs(g - of_13).max() / abs(of_13).max():.1%}")

# %% weighted
weight = np.arange(16) < 13
padded = np.concatenate([table, np.zeros((3, 4))])
cut = NamedSharding(auto, P("data"))
padded, weight = jax.device_put((np.float32(padded), np.float32(weight)), cut)
g = jax.jit(slope)(jnp.ones(4), padded, weight)
print(f"16 rows with weights off by {abs(g - of_13).max():.0e}")

# %% one-norm
g = {n: jnp.asarray(x) for n, x in here.items() if "norm" not in n}
pieces = jax.device_put(g, cut)
print(f"jit        {jax.jit(optax.tree.norm)(pieces):.4f}")

# %% norm-of-a-piece
each = jax.shard_map(
    lambda g: optax.tree.norm(g)[None],
    mesh=auto,
    in_specs=P("data"),
    out_specs=P("data"),
)
print("shard_map ", *(f"{x:.4f}" for x in each(pieces)))

# %% in-bf16
print(f"{'bf16, step':28}{steps}")
for name, own in ("attention all in bf16", True), ("library's", False):
    compare(name, "bf16", "float32", half="bfloat16", own=own)
off = np.divide(recorded["losses"]["bf16"], recorded["losses"]["f32"]) - 1
print(f"{'PyTorch, bf16 and f32':28}", *(f"{abs(off[i]):9.0e}" for i in SHOWN))

# %% summed-in-bf16
x, dy = jax.random.normal(jax.random.key(2), (2, 16, 32, 32), "bfloat16")
wide = np.float64(dy)
exact = np.einsum("bti,bto->io", np.float64(x), wide), wide.sum((0, 1))
for name, sums in ("x @ a + b", None), ("with sums in f32", jnp.float32):

    def loss(a, b, sums=sums):
        y = jnp.matmul(x, a, preferred_element_type=sums) + b
        return jnp.vdot(y.astype("bfloat16"), dy)

    gradients = jax.jit(jax.grad(loss, (0, 1)))(x[0], dy[0, 0])
    for of, g, e in zip("ab", gradients, exact, strict=True):
        off = abs(np.float64(g) - e).max() / abs(e).max()
        print(f"{name:18} gradient of {of} off by {off:.1%}")

# %% their-resume
whole, again = recorded["losses"]["f32"], recorded["losses"]["resumed"]
print("PyTorch, resumed: the same losses", again == whole[20:])

# %% saved-by-two
trained("saved/moved", "0", "20", processes=2, devices=1)

# %% read-by-four
shutil.copytree("saved/moved", "saved/alone")
trained("saved/moved", "20", "40", processes=4, devices=1)

# %% read-by-one
trained("saved/alone", "20", "40", processes=1, devices=8)

# %% on-256-chips
(plan,) = plans(lesson, "twin", "v5e:16x16")
print(plan.on, "libtpu", plan.versions["libtpu"])
print(traffic.table(plan.collectives))
numbers = 4 * sum(w.size for w in here.values())
print(f"gradients {numbers:,} bytes, one sum 2 · 255/256 of it:", end=" ")
print(f"{2 * 255 / 256 * numbers:,.0f}")

# %% defaults
import inspect


def after_a_step(w, g, how):
    change, _ = how.update(g, how.init(w), w)
    return float((w + change)[0])


adam = inspect.signature(optax.adamw).parameters
with jax.enable_x64(True):
    one, unused = jnp.ones(1), jnp.zeros(1)
    halved, _ = optax.clip_by_global_norm(0.5).update(one, None)
    decayed = after_a_step(one, unused, optax.adamw(0.1, weight_decay=0.01))
    ours = {
        "AdamW, weight_decay": adam["weight_decay"].default,
        "AdamW, beta2": adam["b2"].default,
        "gelu(1.0)": float(jax.nn.gelu(one)[0]),
        "a norm of 1, clipped to 0.5": float(halved[0]),
        "an unused weight, after AdamW": decayed,
    }

# %% defaults-table
ours |= nnx["defaults"]
print(f"{'':30} {'PyTorch':>12} {'JAX':>12}")
for name, value in recorded["defaults"].items():
    print(f"{name:30} {value:12.7g} {ours[name]:12.7g}")
