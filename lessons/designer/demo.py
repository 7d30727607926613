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
from minipod.choose import SHAPES, design

of = SHAPES["llama_8b"].model(rows=128, length=2048, scores=True)
made = design(of, "v5p:4x4x4", fsdp=16, tensor=4)
for name, held in made.held.items():
    print(f"{name:10} {held / 1e9:6.2f} GB")
for m in made.messages:
    along, sent = ", ".join(m.axes), m.sent / 1e9
    print(f"{m.name:10} {m.op:15} {along:7} {m.times:4} times {sent:6.2f} GB")
for what in "compute", "memory", "network":
    print(f"{what:10} {1e3 * getattr(made.seconds, what):6.0f} ms")

# %% beside-plans
lesson = Path(minipod.__file__).parents[1] / "lessons/designer"
sys.path.append(str(lesson))
from held_against import cases

every = list(cases())
print(
    "plan                    slice     axes                work sent held  net"
)
for c in every:
    print(f"{c.name:23} {c.on:9} {c.sizes:18}", end="")
    if c.plan.fits:
        found = c.work, c.sent, c.held, c.network
        print("".join(f"{x:5.2f}" for x in found))
    else:
        print(" does not fit")

# %% how-close
fit = [c for c in every if c.plan.fits]
for what in "work", "sent":
    near = [c for c in fit if abs(getattr(c, what) - 1) <= 0.02]
    print(f"{what}: {len(near)} of {len(fit)} within 2 %")
for again in True, False:
    some = [c for c in fit if c.again == again]
    print("layers computed again:" if again else "all kept:", end=" ")
    for what in "held", "memory":
        least, *_, most = sorted(getattr(c, what) for c in some)
        print(f"{what} {least:.2f} to {most:.2f}", end="  ")
    known = [c for c in some if c.plan.seconds.bound]
    same = [c.design.seconds.bound == c.plan.seconds.bound for c in known]
    print(f"bound by the same: {sum(same)} of {len(same)}")
full = max(fit, key=lambda c: c.plan.memory["peak"] / c.design.room)
share = full.plan.memory["peak"] / full.design.room
print(f"fullest: {full.name} {full.sizes}, {share:.0%} of the room")

# %% measured
MEASURED = {  # sequences a chip, their length, vocabulary, tokens/s a chip
    "llama_8b": (4, 8192, 128256, 7207),
    "llama_70b": (4, 8192, 128256, 960),
    "mixtral": (12, 4096, 32000, 3899),
}
print(
    "           MFU  GB: inputs   all  ms: work memory network tokens/s    run"
)
for name, (rows, length, words, run) in MEASURED.items():
    of = SHAPES[name].model(256 * rows, length)
    used = of.params - of.spread
    used += of.spread * of.each / of.experts if of.experts else 0
    forward = 2 * (used + words * of.width) + 4 * of.layers * of.width * length
    mfu = 3 * forward * run / 9.18e14  # FLOP/s of a chip of v6e at its peak
    made = design(of, "v6e:16x16", fsdp=256)
    inputs, held = made.held["inputs"] / 1e9, sum(made.held.values()) / 1e9
    s, most = made.seconds, rows * length / made.seconds.least
    print(f"{name:9} {mfu:.1%} {inputs:9.1f} {held:5.1f}", end="")
    times = zip((s.compute, s.memory, s.network), (10, 7, 8), strict=True)
    print("".join(f"{1e3 * t:{wide},.0f}" for t, wide in times), end="")
    print(f"{most:9,.0f} {run:6,} {run / most:.0%}")
print(f"a chip has room for {made.room / 1e9:.1f} GB")
