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
from parts import alone, batch, drawn

written = lesson.parents[1] / "lessons/ch09_training/text.txt"
data = np.frombuffer(written.read_bytes(), np.uint8)
tokens = batch(data, 0, 8, 4)  # 8 microbatches of 4 rows
w = drawn(jax.random.key(0))
truth, slopes = jax.jit(jax.value_and_grad(alone))(w, tokens)
print(f"loss of one device: {truth:.5f}")

# %% executed
from executor import plan
from planned import compiled

mesh = jax.make_mesh((4,), ("stage",), (jax.sharding.AxisType.Auto,))
for way, v in zip(ways, parts, strict=True):
    step, places = compiled(mesh, way.__name__, 8, 4)
    cut = drawn(jax.random.key(0), 4, v)
    loss, g = step(*jax.device_put((cut, tokens), places))
    flat = {n: np.reshape(a, slopes[n].shape) for n, a in g.items()}
    off = max(abs(flat[n] - slopes[n]).max() for n in flat)
    print(f"{way.__name__:12} loss differs by {abs(loss - truth):.0e}", end="")
    print(f", gradients by {off:.0e}; slots {plan(table(way(4, 8)))[1]}")

# %% trained
step, places = compiled(mesh, "one_f_one_b", 8, 4)
single, losses = jax.jit(jax.value_and_grad(alone)), []
put, mine = jax.device_put(w, places[0]), w
for i in range(20):
    some = batch(data, i, 8, 4)
    pair = step(put, jax.device_put(some, places[1])), single(mine, some)
    losses.append([float(loss) for loss, _ in pair])
    put, mine = (
        jax.tree.map(lambda a, g: a - 0.3 * g, a, g)
        for a, (_, g) in zip((put, mine), pair, strict=True)
    )
piped, one = np.array(losses).T
for name, of in ("4 stages", piped), ("1 device", one):
    print(f"{name}: {of[0]:.5f} … {of[-1]:.5f}")
print(f"differ in 20 steps by at most {abs(piped - one).max():.0e}")

# %% by-grad
step, places = compiled(mesh, "by grad", 8, 4)
loss, g = step(*jax.device_put((w, tokens), places))
off = max(abs(np.array(g[n]) - np.array(slopes[n])).max() for n in g)
print(f"loss differs by {abs(loss - truth):.0e}, gradients by {off:.0e}")
traffic.table(traffic.read(step.as_text(), mesh))

# %% wasted
print(" M  ticks        FLOPs  of one tick")
for m in 4, 8, 16:
    lines = text.parse(compiled(mesh, "by grad", m, 4)[0].as_text())
    flops = sum(work(lines).flops.values())
    print(f"{m:2} {m + 3:6} {flops:12,} {flops / (m + 3):12,.0f}")

# %% memory
print("temporaries, bytes  M = 8      M = 32      more")
for way in "by grad", "gpipe", "one_f_one_b", "interleaved":
    steps = [compiled(mesh, way, m, 64)[0] for m in (8, 32)]
    few, many = (s.memory_analysis().temp_size_in_bytes for s in steps)
    print(f"{way:12} {few:12,} {many:11,} {many - few:9,}")
print(f"one input: {64 * 32 * 32 * 4:,}, 24 of them: {24 * 64 * 32 * 128:,}")

# %% sent
print("                sent  of it by permutes")
for way in "by grad", "gpipe", "one_f_one_b", "interleaved":
    bill = traffic.read(compiled(mesh, way, 8, 4)[0].as_text(), mesh)
    moves = [c for c in bill if c.op == "collective-permute"]
    times = sum(c.times for c in moves)
    line = f"{way:12} {traffic.total(bill):9,} {traffic.total(moves):10,}"
    print(line, f"in {times} of them")

# %% processes
import stage

for way in "gpipe", "one_f_one_b":
    reports = stage.run(way, w, tokens)
    print(f"{way}: idle as it ran {stage.bubble(reports):.2f}", end="")
    print(f", inputs kept {[one['kept'] for one in reports]}", end="")
    print(f", gradients differ by {stage.apart(reports, slopes):.0e}")
print("bytes of weights:", *(f"{one['bytes']:,}" for one in reports))

# %% as-it-ran
from lanes import lanes

pictures.play(lanes(stage.run("one_f_one_b", w, tokens[:4])))

# %% in-step
from schedule import in_step

ticks = {"F": 1, "B": 2}
print("idle, B = 2F   each by its own clock   in step with its neighbours")
for way in ways:
    own, met = bubble(table(way(4, 8), ticks)), in_step(table(way(4, 8)), ticks)
    print(f"{way.__name__:12} {own:23.3f} {met:28.3f}")

# %% shared
print("norm of the gradient of the table, by stage, before the sum:")
print(*(f"{one['norm']:.4f}" for one in reports))
for s in 0, 3:
    print(f"stage {s} after it: {np.linalg.norm(reports[s]['g']['embed']):.4f}")
print(f"one device: {np.linalg.norm(slopes['embed']):.4f}")

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
print(f"bytes that left host 0 in a step, {source}; a permute: {activation:,}")
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
program = lesson / "hangs.py"
done = cluster.run(program, processes=1, devices=4, limit=40, check=False)
lines = done.outputs[0].splitlines()
print(*lines[:4], sep="\n")
for what in "all reduce", "collective permute":
    waits = [line for line in lines if f"waiting for `{what} " in line]
    print(f"{what}: {len({line.split()[2] for line in waits})} devices wait")
print(done.first_failure)

# %% late
print("                sums of copies       sent")
for way in "by grad", "by grad, late":
    bill = traffic.read(compiled(mesh, way, 8, 4)[0].as_text(), mesh)
    sums = [c for c in bill if c.op == "all-reduce"]
    times = sum(c.times for c in sums)
    print(f"{way:14} {times:13} times {traffic.total(sums):10,}")
