# %% what-is-recorded
import json
import sys
from dataclasses import replace
from pathlib import Path
from textwrap import fill

import numpy as np
from jax.sharding import Mesh

import minipod
from minipod import pictures, pods, torus, traffic
from minipod.chips import chip

lesson = Path(minipod.__file__).parents[1] / "lessons/ch15_pods"
sys.path.append(str(lesson))
from planned import HEAD, planned, recordings, row

for by, count in recordings():
    print(count, "plans recorded with", by)

# %% coordinates
eight = pods.devices("7x:2x2x1")
for d in eight:
    print("device", d.id, "coords", d.coords, "core_on_chip", d.core_on_chip)

# %% source-order
order = [0, 1, 2, 3, 6, 7, 4, 5]  # 0 1 2 3 above, 6 7 4 5 below
pictures.torus(Mesh(np.array(eight)[order], ("x",)), closes=4)


# %% hops
def hops(order):
    path = [eight[i].coords for i in order]
    around = zip(path, path[1:] + path[:1], strict=True)
    return [abs(a[0] - b[0]) + abs(a[1] - b[1]) for a, b in around]


print("by number      ", hops(range(8)))
print("in torus order ", hops(order))

# %% sixteen
sixteen = pods.mesh("v5e:4x4", data=4, model=4)
pictures.torus(sixteen)


# %% layouts
for on in ("v5e:4x4", "v5e:16x16", "v5p:4x4x4"):
    closes = chip(pods.slice_of(on).generation.chip).carrier.closes
    for axes in pods.layouts(on, "data", "model"):
        lies = torus.torus_of(pods.mesh(on, **axes), closes)
        line = torus.said(lies.lines(pods.rows(axes, ["data"])[0]))
        print(f"{on:9} {axes['data']:3} × {axes['model']:3} data on: {line}")

# %% no-such-layout
parts = pods.mesh("v5e:4x4", data=8, model=2)
lies = torus.torus_of(parts, closes=16)
for axis in parts.axis_names:
    line = lies.lines(pods.rows(parts.shape, [axis])[0])
    print(f"{axis:5}", torus.said(line) if line else "no block")
groups = pods.rows(parts.shape, ["data"])
gather = traffic.Collective("all-gather", groups, 2**28, axes=("data",))
print(fill(*traffic.at_least([gather], "TPU v5e", parts).notes, 76))

# %% arguments-on-paper
from stack import SMALL, train

step, (w, x, y) = train(sixteen, SMALL, rows=2**14)
cut = [a.sharding.shard_shape(a.shape) for a in (w["up"], w["down"], x, y)]
held = sum(2 * int(np.prod(shape)) for shape in cut)  # bf16
plan = planned("small_14", "v5e:4x4", data=4, model=4)
print("on paper    ", held)
print("the compiler", plan.memory["arguments"])

# %% one-plan
plan.table()

# %% copies
for on in ("v5e:2x4", "h100:8"):
    plan = planned("copies", on, data=8, model=1)
    if plan.fits:
        peak, limit = plan.memory["peak"] / 2**30, plan.memory["limit"] / 2**30
        print(f"{on} fits, {peak:.1f} GiB of {limit:.1f} at the peak")
    else:
        print(fill(f"{on} does not fit. {plan.full}", 76))

# %% by-batch
print("rows     fits  GiB at the peak")
for n in range(14, 20):
    plan = planned(f"small_{n}", "v5e:4x4", data=16, model=1)
    peak = plan.memory["peak"]
    print(f"{2**n:7} {plan.fits!s:>5}", f"{peak / 2**30:8.2f}" if peak else "")

# %% kept
print(HEAD)
for name in ("small_14", "kept"):
    print(row(planned(name, "v5e:4x4", data=16, model=1)))
for name in ("small_14", "kept"):
    took = planned(name, "v5e:4x4", data=16, model=1).estimate["seconds"]
    print(f"{name:9} by its schedule {1e3 * took:.1f} ms")

# %% on-256-chips
print(HEAD)
for plan in planned("large_18", "v5e:16x16"):
    print(row(plan))


# %% passes
def passes(plan):
    print(plan.on, dict(plan.mesh.shape))
    held = 24 * 2**30 / plan.mesh.shape["model"]  # by a group along data
    for op in ("all-gather", "reduce-scatter", "all-reduce"):
        along = [c for c in plan.collectives if c.axes == ("data",)]
        runs = [c for c in along if c.op == op]
        n = sum(c.bytes * c.times for c in runs) / held
        took = traffic.seconds(runs, plan.chip.carrier, plan.mesh)
        print(f"    {op:14} {n:4.0f} × the weights {1e3 * took:8.1f} ms")


passes(planned("large_18", "v5e:16x16", data=256, model=1))
passes(planned("large_18", "v5e:16x16", data=16, model=16))
passes(planned("large_18", "v5p:4x4x4", data=64, model=1))

# %% machines
every = ["v5e:16x16", "v6e:8x8", "v5p:4x4x4", "v4:4x4x4"]
plans = [p for on in every for p in planned("large_18", on)]
print(HEAD)
for plan in plans:
    print(row(plan))

# %% picture-machines
pictures.plans(plans)

# %% v6e
for name in ("TPU v5e", "TPU v6e"):
    peak, speed = chip(name).peak("bf16"), chip(name).carrier.bytes_per_second
    print(f"{name}: {peak / 1e12:.0f} TFLOP/s, {speed / 1e9:.0f} GB/s a link")

for p in planned("large_18", "v6e:8x8")[:2]:
    closed = replace(p.chip.carrier, closes=8)  # if lines of 8 were closed
    took = 1e3 * traffic.seconds(p.collectives, closed, p.mesh)
    print(p.on, dict(p.mesh.shape), f"as rings {took:.1f} ms")

# %% smaller-batch
print(HEAD)
for plan in planned("large_15", "v5e:16x16"):
    print(row(plan))


# %% by-axis
def by_axis(plan):
    for axis in plan.mesh.axis_names:
        along = [c for c in plan.collectives if c.axes == (axis,)]
        took = 1e3 * traffic.seconds(along, plan.chip.carrier, plan.mesh)
        print(f"{axis:5} {plan.sent[axis]:15,} bytes sent {took:7.1f} ms")


by_axis(planned("large_18", "v5e:16x16", data=16, model=16))

# %% same-bytes
by_axis(planned("large_18", "v5p:4x4x4", data=16, model=4))

# %% batches
sizes = range(14, 19)
grown = [planned(f"large_{n}", "v5e:16x16", data=16, model=16) for n in sizes]
print("  rows  compute   network (ms)      data     model (bytes sent)")
for n, p in zip(sizes, grown, strict=True):
    times = f"{1e3 * p.seconds.compute:8.1f} {1e3 * p.seconds.network:9.1f}"
    sent = f"{p.sent['data']:14,} {p.sent['model']:15,}"
    print(f"{2**n:6} {times} {sent}")

# %% picture-batches
pictures.curve(
    {
        "compute": [1e3 * p.seconds.compute for p in grown],
        "network": [1e3 * p.seconds.network for p in grown],
    },
    [2.0**n for n in sizes], "rows", "milliseconds", True, True,
)  # fmt: skip


# %% from-which-batch
def batches(plan):
    along = [c for c in plan.collectives if c.axes == ("data",)]
    fixed = traffic.seconds(along, plan.chip.carrier, plan.mesh)
    return fixed / (plan.seconds.compute - (plan.seconds.network - fixed))


print(f"LARGE from {2**14 * batches(grown[0]):,.0f} rows on")
small = planned("small_14", "v5e:4x4", data=4, model=4)
print(f"SMALL, 4 × 4, from {batches(small):.2f} times the batch on")

# %% hidden-or-not
for on, side in (("v5e:16x16", 16), ("v6e:8x8", 8)):
    plan = planned("large_18", on, data=side, model=side)
    least, most = plan.seconds.least, plan.seconds.most
    print(f"{on}: {least:.2f} to {most:.2f} s a step,")
    print(f"    by its schedule {plan.estimate['seconds']:.2f}")
    for o in plan.overlaps:
        print(f"    {o.op} under way during {o.products} products")

# %% eight-gpus
here = ["v5e:16x16", "v5p:2x2x2", "v6e:2x4", "h100:8"]
fits = [p for on in here for p in planned("large_14", on)]
print(HEAD, " chip-seconds")
for p in fits:
    print(f"{row(p):58} {p.mesh.size * p.seconds.least:6.2f}")

h100, v5e = (chip(name).peak("bf16") for name in ("H100", "TPU v5e"))
print(f"peak of an H100 ÷ peak of a v5e: {h100 / v5e:.1f}")

# %% too-large-for-eight
for plan in planned("large_18", "h100:8"):
    peak, limit = plan.memory["peak"], plan.memory["limit"]
    print(f"{peak / 2**30:.1f} GiB of {limit / 2**30:.1f}, fits: {plan.fits}")

# %% published
measured = [  # model, on, chip, TFLOP/s of a chip
    ("16B", "v5e-256", "TPU v5e", 120),
    ("32B", "v5e-256", "TPU v5e", 132),
    ("64B", "v5e-256", "TPU v5e", 118),
    ("128B", "v5e-256", "TPU v5e", 110),
    ("22B", "v4-128", "TPU v4", 156),
    ("32B", "v5p-128", "TPU v5p", 328),
    ("Llama 3 405B", "8,192 GPUs", "H100", 430),
    ("Llama 3 405B", "16,384 GPUs", "H100", 400),
]
print("model         on            peak  measured   peak ÷ measured")
for model, on, name, reached in measured:
    peak = chip(name).peak("bf16") / 1e12
    ratio = peak / reached
    print(f"{model:13} {on:12} {peak:5.0f} {reached:9} {ratio:17.2f}")

# %% planned-and-published
published = json.loads((lesson / "published.json").read_text("utf-8"))
wanted = {"model": "llama3", "kind": "decode", "length": 2048}
cases = [c for c in published["rows"].values() if wanted.items() <= c.items()]
print("x,y,z  batch  longest schedule      sum published  published ÷ sum")
for case in cases:
    figures, took = case["figures"], case["published"]
    three = [figures[name] for name in ("compute", "memory", "network")]
    times = max(three), figures["seconds"], sum(three), took
    ms = "".join(f"{1e3 * t:9.2f}" for t in times)
    mesh = ",".join(map(str, case["mesh"]))
    print(f"{mesh:6} {case['batch']:5} {ms} {took / sum(three):16.3f}")

# %% with-cycles
print("x,y,z  batch   schedule ÷ published   with cycles ÷ published")
for case in cases:
    mesh, took = ",".join(map(str, case["mesh"])), case["published"]
    plain, more = case["figures"]["seconds"] / took, case["as_compiled"] / took
    print(f"{mesh:6} {case['batch']:5} {plain:22.2f} {more:25.2f}")

# %% yours
yours = json.loads((lesson / "yours.json").read_text("utf-8"))
print(f"{'':18} arguments     by its schedule")
for name, made in yours.items():
    plan = made["plan"]
    held = f"{plan['memory']['arguments'] / 2**30:5.2f} GiB"
    least = "at least" if plan["at_least"] else ""
    print(f"{name:18} {held} {least:>9} {1e3 * plan['estimate']:8.1f} ms")
    by = ", ".join(f"{k} {v}" for k, v in made["versions"].items())
    print(f"{'':18} {by}")

# %% then-two-devices
for name in ("v4:2x2x1", "v5e:2x2", "7x:2x2x1"):
    found = pods.devices(name)
    chips = len({d.coords for d in found})
    print(f"{name:9} {chips} chips, {len(found)} devices of JAX")
