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

# %% recorded
import json
from pathlib import Path

import minipod

lesson = Path(minipod.__file__).parents[1] / "lessons/ch16_capstone"
recording = json.loads((lesson / "night.json").read_text())
nights = recording["nights"]
print(recording["recorded"], recording["versions"])
print(*nights["same"]["output"], sep="\n")

# %% picture-night
from minipod import pictures


def timeline(night):
    starts = night["starts"]
    times = [second for start in starts for second, _ in start]
    lines, before = {}, 0
    for turn, start in enumerate(starts, 1):
        line = [float("nan")] * len(times)
        line[before : before + len(start)] = [step for _, step in start]
        lines[f"start {turn}"], before = line, before + len(start)
    return pictures.curve(lines, times, "seconds", "step")


timeline(nights["same"])

# %% restarts
from lessons.ch16_capstone.restarts import restarts

pictures.play(restarts(nights["same"]))

# %% data
import shutil

from minipod.cluster import run

names = """claim ending faults keeping model night notes read_logs rows slow
    compiled_before every_tenth two_ways_to_save write_data"""
for name in names.split():
    shutil.copy(lesson / f"{name}.py", ".")
shutil.rmtree("runs", ignore_errors=True)  # an earlier reading of this page
run("write_data.py", processes=1, devices=1)

# %% from-one-to-eight
for name, processes, devices in (("1", 1, 1), ("8", 1, 8), ("2x4", 2, 4)):
    done = run(
        "night.py", f"runs/{name}", "60", processes=processes, devices=devices
    )
    print(done.outputs[0])

# %% planned
from lessons.ch15_pods.planned import HEAD, row
from minipod import pods
from minipod.pods import plan, recorded

print(HEAD)
for kept in recorded.load(lesson):
    on, _, rest = kept["place"].partition(", ")
    pairs = (pair.split("=") for pair in rest.partition(":")[0].split(", "))
    mesh = pods.mesh(on, **{axis: int(size) for axis, size in pairs})
    print(row(plan.plan("large", on, mesh, kept["facts"], kept["versions"])))

# %% told-to-go
told = run(
    "night.py", "runs/told", "60",
    env=[{}, {"NIGHT_FAULT": "TERM@12"}], check=False,
)  # fmt: skip
told

# %% goes-on
run("night.py", "runs/told", "60")


# %% to-the-bit
def losses(name):
    return json.loads(Path(f"runs/{name}/losses.json").read_text())


print(losses("told") == losses("2x4"), "for", len(losses("told")), "steps")

# %% killed
run(
    "night.py", "runs/killed", "60",
    env=[{}, {"NIGHT_FAULT": "KILL@37"}], check=False,
)  # fmt: skip

# %% repeated
shutil.copytree("runs/killed", "runs/moved")
again = run("night.py", "runs/killed", "60")
log = Path("runs/killed/logs/000.log").read_text()
done = [
    int(line.split("\t")[2]) for line in log.splitlines() if "loss 0" in line
]
print(again.outputs[0])
print(len(done) - len(set(done)), "steps done twice")
print(losses("killed") == losses("2x4"), "for", len(losses("killed")), "steps")

# %% moved
import numpy as np

shutil.copytree("runs/moved", "runs/moved-alone")
run("night.py", "runs/moved", "60", processes=4, devices=2)
run("night.py", "runs/moved-alone", "60", processes=1, devices=1)
for name in ("moved", "moved-alone"):
    apart = np.abs(np.array(losses(name)) / losses("2x4") - 1)
    print(f"{name:12} at most {apart.max():.0e} apart")

# %% cut-off
import os

for file in Path("runs/told/steps/60").rglob("d/*"):
    os.truncate(file, 50)
run("night.py", "runs/told", "70")

# %% hangs
run(
    "night.py", "runs/hung", "60", "--limit", "3",
    env=[{}, {"NIGHT_FAULT": "HANG@8"}], check=False,
)  # fmt: skip

# %% whose-fault
import runpy
import sys

sys.argv = ["read_logs.py", "runs/hung/logs", "9"]
_ = runpy.run_path("read_logs.py", run_name="__main__")

# %% sixteen
strikes = [{"NIGHT_FAULT": "SLOW@11"} if p == 5 else {} for p in range(16)]
run(
    "night.py", "runs/sixteen", "20",
    processes=16, devices=1, env=strikes, limit=300,
)  # fmt: skip

# %% sixteen-logs
sys.argv = ["read_logs.py", "runs/sixteen/logs", "13"]
_ = runpy.run_path("read_logs.py", run_name="__main__")

# %% watched
import time
from concurrent.futures import ThreadPoolExecutor

from minipod import watch

strikes = [{"NIGHT_FAULT": "HANG@8"} if p == 2 else {} for p in range(4)]
night = ThreadPoolExecutor().submit(
    run, "night.py", "runs/watched", "60", "--limit", "25",
    processes=4, devices=2, env=strikes, check=False,
)  # fmt: skip
while len(list(Path("runs/watched/beats").glob("*.json"))) < 4:
    time.sleep(0.1)
folder = watch.Folder("runs/watched/beats")
while not watch.judge(folder.look()[0], limit=5):
    time.sleep(0.5)

# %% watched-page
watch.once("runs/watched/beats", limit=5)
_ = night.result()  # the watchdog ends it

# %% watch-cost
from minipod.cluster import Heartbeat

beat, steps = Heartbeat("runs/counted"), 100_000
began = time.perf_counter()
for step in range(steps):
    beat.begin(step)
    beat.ready()
    beat.done()
print(f"{(time.perf_counter() - began) / steps * 1e6:.1f} µs a step")
beat.close()

# %% what-saving-costs
print(run("two_ways_to_save.py").outputs[0])

# %% batch-file
print((lesson / "night.sbatch").read_text())

# %% picture-moved
print(*nights["moved"]["output"], sep="\n")
timeline(nights["moved"])

# %% nights-compared
quiet = np.array(nights["whole"]["losses"])
for name in ("same", "moved"):
    found = np.array(nights[name]["losses"])
    equal, apart = int((found == quiet).sum()), np.abs(found / quiet - 1).max()
    print(f"{name:5} {equal} of {len(quiet)} losses equal, ", end="")
    print(f"at most {apart:.0e} apart")


# %% goodput
from itertools import pairwise


def seconds(starts):  # from the first step that was done to the last
    return starts[-1][-1][0] - starts[0][0][0]


useful = seconds(nights["whole"]["starts"])
for name in ("same", "moved"):
    starts = nights[name]["starts"]
    gaps = sum(
        after[0][0] - before[-1][0] for before, after in pairwise(starts)
    )
    twice, took = sum(map(len, starts)) - len(quiet), seconds(starts)
    print(f"{name:5} {useful:.0f} of {took:.0f} s: {useful / took:.0%}", end="")
    print(f"; {gaps:.0f} s between starts, {twice} steps done twice")

# %% endings
endings = json.loads((lesson / "endings.json").read_text())["nights"]
for name, night in endings.items():
    starts, (state, code) = night["starts"], night["job"]
    twice = sum(before[1] - after[0] + 1 for before, after in pairwise(starts))
    print(
        f"{name:5} {len(starts):2} starts, up to step {starts[-1][1]:4}, ",
        end="",
    )
    print(f"{twice} steps done twice; {state}, {code}")
print(*endings["full"]["output"][-2:], sep="\n")

# %% how-often
from math import sqrt
from random import Random


def trained(every, save, gap, between):
    """The share of 20,000 failures' time that was training: dice."""
    rng, clock, useful = Random(16), 0.0, 0.0
    for _ in range(20_000):
        lasts = rng.expovariate(1 / between)  # until it fails
        useful += lasts // (every + save) * every  # what was saved
        clock += lasts + gap
    return useful / clock


def lost(every, save, gap, between):
    return save / every + (every / 2 + gap) / between


hour = 3600
print("save  gap  fails every    T: best/4  best/2    best  2 best  4 best")
for save, gap, between in (
    (5, 60, 24 * hour),
    (60, 300, 24 * hour),
    (5, 60, 3 * hour),
    (60, 300, 3 * hour),
):
    best = sqrt(2 * save * between)
    tried = [best * by for by in (1 / 4, 1 / 2, 1, 2, 4)]
    dice = [f"{trained(t, save, gap, between):7.1%}" for t in tried]
    paper = [f"{1 - lost(t, save, gap, between):7.1%}" for t in tried]
    head = f"{save:3} s {gap:3} s {between // hour:7} h   "
    print(f"{head}  dice {' '.join(dice)}")
    print(f"{f'best {best / 60:.0f} min':24}paper {' '.join(paper)}")

# %% compiled-before
from tempfile import TemporaryDirectory

print("                1 process   2 processes")
with TemporaryDirectory() as one, TemporaryDirectory() as two:
    for name in ("no cache", "an empty cache", "a full one"):
        took = []
        for processes, folder in ((1, one), (2, two)):
            env = {
                "JAX_COMPILATION_CACHE_DIR": folder,
                "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            }
            done = run(
                "compiled_before.py",
                processes=processes,
                devices=8 // processes,
                env={} if name == "no cache" else env,
            )
            took.append(", ".join(o.strip() for o in done.outputs))
        print(f"{name:14}  {took[0]:9}   {took[1]}")

# %% asked-every-tenth
run("every_tenth.py", env=[{}, {"NIGHT_FAULT": "TERM@12"}])

# %% unusable
Path("runs/a-file").write_text("")
run("night.py", "runs/a-file/night", "60", check=False)

# %% full
run(
    "night.py", "runs/killed", "80",
    env=[{}, {"NIGHT_FAULT": "FULL@65"}], check=False,
)  # fmt: skip

# %% two-optimizers
import jax

from minipod import devices

devices.simulate(8)
x = np.float32(np.random.default_rng(16).normal(size=(8, 32, 3)))
y = x @ np.float32([1, -2, 3])  # rows for each of eight devices


def gradient(w, x, y):  # the same on every device
    return jax.lax.pmean(jax.grad(lambda w: ((x @ w - y) ** 2).mean())(w), "i")


def update(w, x, y):  # every device updates its own copy
    return w - 0.1 * gradient(w, x, y)


by_device, by_host = (
    jax.pmap(f, "i", in_axes=(None, 0, 0)) for f in (update, gradient)
)
a = b = np.zeros(3, np.float32)
for _ in range(20):
    a = np.asarray(by_device(a, x, y)[0])
    b = b - np.float32(0.1) * np.asarray(by_host(b, x, y)[0])
print(a, "at most", np.abs(a - b).max(), "apart")
