# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% begin
import sys
from pathlib import Path

import minipod
from minipod import cluster, devices, pictures, traffic
from minipod.expect import expect_error
from minipod.hlo import text
from minipod.hlo.work import work

devices.simulate(4)
import jax
import numpy as np
from jax import NamedSharding, P

lesson = Path(minipod.__file__).parents[1] / "lessons/ch22_stages"
sys.path.append(str(lesson))

# %% lists
from schedule import gpipe, interleaved, labels, one_f_one_b, table

for s, lane in enumerate(zip(*labels(table(gpipe(3, 4))), strict=True)):
    print(f"stage {s}", *(f"{what or '·':2}" for what in lane))

# %% picture-gpipe
pictures.schedule(labels(table(gpipe(4, 8))))

# %% picture-1f1b
pictures.schedule(labels(table(one_f_one_b(4, 8))))

# %% picture-interleaved
pictures.schedule(labels(table(interleaved(4, 4))))

# %% counted
from schedule import bubble, kept

ways, parts = (gpipe, one_f_one_b, interleaved), (1, 1, 2)
print("              M  idle   by formula  idle, B = 2F  inputs kept by stage")
for way, v in zip(ways, parts, strict=True):
    for m in 4, 8, 32:
        rows, longer = (table(way(4, m), {"F": 1, "B": b}) for b in (1, 2))
        line = f"{way.__name__:12} {m:2}  {bubble(rows):.3f}"
        line += f"  {3 / (v * m + 3):10.3f}  {bubble(longer):12.3f}  "
        print(line, *(f"{n:2}" for n in kept(rows)))

# %% alone
from parts import SPECS, alone, batch, drawn

written = lesson.parents[1] / "lessons/ch09_training/text.txt"
data = np.frombuffer(written.read_bytes(), np.uint8)
tokens = batch(data, 0, 8, 4)  # 8 microbatches of 4 rows
w = drawn(jax.random.key(0))
truth, slopes = jax.jit(jax.value_and_grad(alone))(w, tokens)
print(f"loss of one device: {truth:.5f}")

# %% executed
from executor import executor, plan

mesh = jax.make_mesh((4,), ("stage",), (jax.sharding.AxisType.Auto,))
on = {n: NamedSharding(mesh, spec) for n, spec in SPECS.items()}
specs = {"in_specs": (SPECS, P()), "out_specs": (P(), SPECS)}
steps = {}
for way, v in zip(ways, parts, strict=True):
    rows, cut = table(way(4, 8)), drawn(jax.random.key(0), 4, v)
    steps[way.__name__] = jax.jit(
        jax.shard_map(executor(rows), mesh=mesh, **specs)
    )
    loss, g = steps[way.__name__](jax.device_put(cut, on), tokens)
    flat = {n: np.reshape(a, slopes[n].shape) for n, a in g.items()}
    off = max(abs(flat[n] - slopes[n]).max() for n in flat)
    print(f"{way.__name__:12} loss differs by {abs(loss - truth):.0e}", end="")
    print(f", gradients by {off:.0e}; slots {plan(rows)[1]}")

# %% trained
put, mine = jax.device_put(w, on), w
single, losses = jax.jit(jax.value_and_grad(alone)), []
for step in range(20):
    some = batch(data, step, 8, 4)
    pair = steps["one_f_one_b"](put, some), single(mine, some)
    losses.append([float(loss) for loss, _ in pair])
    put, mine = (
        jax.tree.map(lambda a, g: a - 0.3 * g, a, g)
        for a, (_, g) in zip((put, mine), pair, strict=True)
    )
piped, one = np.array(losses).T
print(f"4 stages: {piped[0]:.5f} … {piped[-1]:.5f}", end="")
print(f", 1 device: {one[0]:.5f} … {one[-1]:.5f}")
print(f"differ in 20 steps by at most {abs(piped - one).max():.0e}")

# %% by-grad
from planned import program

f, args = program(mesh, "by grad", 8, 4)
given = jax.device_put((w, tokens), jax.tree.map(lambda a: a.sharding, args))
loss, g = f(*given)
off = max(abs(np.array(g[n]) - np.array(slopes[n])).max() for n in g)
print(f"loss differs by {abs(loss - truth):.0e}, gradients by {off:.0e}")
traffic.table(traffic.of(f, *given, mesh=mesh))

# %% wasted
print(" M  ticks        FLOPs  of one tick")
for m in 4, 8, 16:
    f, args = program(mesh, "by grad", m, 4)
    lines = text.parse(f.lower(*args).compile().as_text())
    flops = sum(work(lines).flops.values())
    print(f"{m:2} {m + 3:6} {flops:12,} {flops / (m + 3):12,.0f}")

# %% memory
print("temporaries, bytes  M = 8      M = 32      more")
for way in "by grad", "gpipe", "one_f_one_b", "interleaved":
    sizes = []
    for m in 8, 32:
        f, args = program(mesh, way, m, 64)
        memory = f.lower(*args).compile().memory_analysis()
        sizes.append(memory.temp_size_in_bytes)
    few, many = sizes
    print(f"{way:12} {few:12,} {many:11,} {many - few:9,}")
print(f"one input: {64 * 32 * 32 * 4:,}, 24 of them: {24 * 64 * 32 * 128:,}")

# %% sent
print("              sent  of it over the boundaries")
for way in "by grad", "gpipe", "one_f_one_b", "interleaved":
    f, args = program(mesh, way, 8, 4)
    bill = traffic.of(f, *args, mesh=mesh)
    moves = [c for c in bill if c.op == "collective-permute"]
    print(f"{way:12} {traffic.total(bill):9,} {traffic.total(moves):10,}")

# %% processes
import stage

for way in "gpipe", "one_f_one_b":
    told = stage.run(way, w, tokens)
    print(f"{way}: idle as it ran {stage.bubble(told):.2f}", end="")
    print(f", inputs kept {[one['kept'] for one in told]}", end="")
    print(f", gradients differ by {stage.apart(told, slopes):.0e}")
print("bytes of weights:", *(f"{one['bytes']:,}" for one in told))

# %% in-step
from schedule import in_step

ticks = {"F": 1, "B": 2}
print("idle, B = 2F   each by its own clock   in step with its neighbours")
for way in ways:
    own, met = bubble(table(way(4, 8), ticks)), in_step(table(way(4, 8)), ticks)
    print(f"{way.__name__:12} {own:23.3f} {met:28.3f}")

# %% shared
print("norm of the gradient of the table, by stage, before the sum:")
print(*(f"{one['norm']:.4f}" for one in told))
for s in 0, 3:
    print(f"stage {s} after it: {np.linalg.norm(told[s]['g']['embed']):.4f}")
print(f"one device: {np.linalg.norm(slopes['embed']):.4f}")

# %% late
print("                sums of copies       sent")
for way in "by grad", "by grad, late":
    f, args = program(mesh, way, 8, 4)
    sums = [c for c in traffic.of(f, *args, mesh=mesh) if c.op == "all-reduce"]
    times = sum(c.times for c in sums)
    print(f"{way:14} {times:13} times {traffic.total(sums):10,}")

# %% two-hosts
import two_hosts

found, source = two_hosts.left()
activation, shared = 4 * 32 * 32 * 4, 55_302  # of a device, its sum of copies
over = {  # permutes that leave host 0, hops of the ring of the sum
    "by grad 0123": 11 * activation + shared,
    "by grad 0213": 33 * activation + 2 * shared,
    "one_f_one_b 0123": 22 * activation + shared,
    "interleaved 0123": 2 * 38 * activation + shared,
    "data 0123": sum(a.nbytes for a in w.values()),
}
print("bytes that left host 0 in a step,", source)
for way, (left, _) in found.items():
    line = f"{way:17} {over[way]:9,} predicted, {left:9,} seen"
    print(line, f"({left / over[way]:.2f} ×)")

# %% plans
from minipod.pods import recorded

print("v5e:2x2        temporaries: M = 8       M = 32   permutes: hidden")
for way in "by_grad", "gpipe", "one_f_one_b", "interleaved":
    few, many = (
        recorded.plans(lesson, f"{way}_{m}", "v5e:2x2", stage=4)[0]
        for m in (8, 32)
    )
    moves = [o for o in few.overlaps if o.op == "collective-permute"]
    sizes = [p.memory["temporaries"] for p in (few, many)]
    line = f"{way:12} {sizes[0]:21,} {sizes[1]:12,}"
    print(line, f"{sum(o.products > 0 for o in moves):12} of {len(moves)}")
print(f"one activation: {1024 * 32 * 32 * 4:,}, 24: {24 * 1024 * 32 * 128:,}")
print("libtpu", few.versions["libtpu"])

# %% waits-for-itself
orders = one_f_one_b(3, 4)
orders[2][0], orders[2][1] = orders[2][1], orders[2][0]
with expect_error(ValueError, "all wait"):
    table(orders)

# %% both-send
for line in stage.run("one_f_one_b", w, tokens, waits=True):
    print(line)

# %% hangs
done = cluster.run(
    lesson / "hangs.py", processes=1, devices=4, limit=15, check=False
)
print(done.first_failure)
