# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% imports
import sys
import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
from jax import P, lax

import minipod
from minipod import cluster, devices, pictures, profiles
from minipod.chips import chip
from minipod.pods import recorded

devices.simulate(8)
lesson = Path(minipod.__file__).parents[1] / "lessons/ch18_profile"
sys.path.append(str(lesson))

# %% three-times
LAYERS, WIDTH, HIDDEN, CHIPS, LINKS = 3, 4096, 8192, 8, 2
v5e = chip("TPU v5e")


def times(rows):
    """Seconds of one device that has so many rows of the batch."""
    matrices = LAYERS * 2
    flops = matrices * 2 * rows * WIDTH * HIDDEN
    weights = matrices * WIDTH * HIDDEN * 2  # bytes: two for a bf16 number
    sent = weights * (CHIPS - 1) / CHIPS
    return {
        "compute": flops / v5e.peak("bf16"),
        "memory": weights / v5e.bandwidth,
        "network": sent / (LINKS * v5e.carrier.bytes_per_second),
    }


for name, seconds in times(1024).items():
    print(f"{name:8} {1e3 * seconds:6.2f} ms")

# %% from-which-batch
for rows in 512, 1024, 2048, 4096:
    each = times(rows)
    longest = max(each, key=each.get)
    print(f"{rows:5} rows: {longest:8} {1e3 * each[longest]:6.2f} ms")

t = times(1024)
print(f"equal at {1024 * t['network'] / t['compute']:.0f} rows")

# %% roofline
sizes = [2.0**n for n in range(5, 14)]


def reached(rows):
    """Most TFLOP/s that each of the three allows."""
    each = times(rows)
    work = each["compute"] * v5e.peak("bf16") / 1e12
    return {name: work / seconds for name, seconds in each.items()}


roofs = {name: [reached(n)[name] for n in sizes] for name in times(1)}
pictures.curve(roofs, sizes, "rows", "TFLOP/s", logx=True, logy=True)

# %% the-step
mesh = jax.make_mesh((8,), ("data",))
cut = jax.NamedSharding(mesh, P("data"))


@jax.jit
@jax.shard_map(mesh=mesh, in_specs=(P("data"), P("data")), out_specs=P())
def step(turns, x):  # of one device: i32[1], f32[1, 256, 256]
    x = lax.fori_loop(0, turns[0], lambda _, x: jnp.tanh(x @ x), x[0])
    return lax.psum(x, "data")


x = jax.device_put(jnp.ones((8, 256, 256)) / 256, cut)
same = jax.device_put(jnp.full(8, 20), cut)

# %% picture-even
from recording import record

even = record(step, same, x)
pictures.profile(even.step(2))

# %% the-table
even.step(2).table()

# %% threads
from recording import look_inside

jax.block_until_ready(step(same, x))  # compiles
folder = tempfile.mkdtemp()
with jax.profiler.trace(folder):
    for _ in range(3):
        jax.block_until_ready(step(same, x))
names, ran = look_inside(folder)
print("planes:", ", ".join(names))
print("threads that ran device 0:", len(ran[0]))

# %% picture-uneven
turns = jax.device_put(jnp.full(8, 20).at[3].set(200), cut)
uneven = record(step, turns, x)
pictures.profile(uneven.step(2))

# %% straggler
one = uneven.step(2)
late, seconds = one.straggler()
print(f"waited for most: {late}, {1e3 * seconds:.0f} ms in all")
for lane in one.lanes[2:5]:
    (sums,) = one.collectives(lane)
    waits = 1e3 * (sums.complete - sums.start)  # until all have come
    print(f"{lane} is in its all-reduce for {1e3 * sums.seconds:.1f} ms,")
    print(f"    for {waits:.1f} of them a device is missing")

# %% two-processes
folder = tempfile.mkdtemp()
cluster.run(lesson / "late_data.py", folder, processes=2, devices=2)
each = [profiles.read(f"{folder}/{process}") for process in (0, 1)]
both = profiles.together(*each)
pictures.profile(both.step(2), notes=["load"])

# %% who-loads
one = both.step(2)
late, seconds = one.straggler()
print(f"waited for most: process {late.process}, {late}")
for note in one.noted("load"):
    # what of this load lies inside the step
    inside = min(note.end, one.end) - max(note.start, one.start)
    if inside > 0.001:
        print(f"process {note.process} loads for {1e3 * inside:.0f} ms")

# %% clocks
from minipod.profiles.aligned import offsets

for number, apart in enumerate(offsets(*each)):
    print(f"all-reduce {number}: its ends lie {1e3 * apart:5.2f} ms apart")

# %% schedule
print((lesson / "schedule_tpu.txt").read_text())

# %% exposed
print("  rows  compute  network  exposed   memory     step  (ms)")
for n in range(13, 17):
    (plan,) = recorded.plans(lesson, f"rows_{n}", "v5e:2x4", data=8)
    found, compute = plan.estimate, plan.seconds.compute
    waits = found["for_network"], found["for_memory"]
    took = compute, plan.seconds.network, *waits, found["seconds"]
    assert abs(found["seconds"] - compute - sum(waits)) < 1e-9
    print(f"{2**n:6}", *(f"{1e3 * t:8.2f}" for t in took))


# %% at-a-terminal
from minipod.profiles.command import report

print(report(uneven.step(2)))

# %% for-perfetto
folder = tempfile.mkdtemp()
with jax.profiler.trace(folder, create_perfetto_trace=True):
    jax.block_until_ready(step(same, x))
for file in sorted(Path(folder).rglob("*.*")):
    if file.is_file():
        print(file.name.rpartition("vm.")[2])

# %% how-many-events
size = next(Path(folder).rglob("*.xplane.pb")).stat().st_size
print(f"the file of one even step: {size / 1000:.0f} kB")
print("three uneven steps:", len(uneven.events), "operations of devices")

# %% does-not-wait
folder = tempfile.mkdtemp()
with jax.profiler.trace(folder):
    with jax.profiler.StepTraceAnnotation("train", step_num=0):
        out = step(turns, x)  # asynchronous: this returns at once
    jax.block_until_ready(out)
hasty = profiles.read(folder)
missed = hasty.end - hasty.step(0).end
print("the devices go on after the step has ended:", missed > 0)

# %% the-one-that-waits
one = uneven.step(2)
waits = {
    lane: sum(b - a for a, b in one.spent(lane).waiting) for lane in one.lanes
}
print("waits longest: ", max(waits, key=waits.get))
print("is waited for: ", one.straggler()[0])
