# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% begin
import sys
from collections import Counter
from pathlib import Path

import minipod
from minipod import traffic
from minipod.chips import chip
from minipod.pods import recorded

lesson = Path(minipod.__file__).parents[1] / "lessons/axes"
sys.path.append(str(lesson))
from one_model import AXES, WHOLE

NEAR, FAR = "v5e:2x2", "4xv5e:1x1"  # one slice; four slices of a chip each


def plan(axis, on=NEAR):
    (found,) = recorded.plans(lesson, axis, on, **{axis: 4})
    return found


said = [f"{name} {number}" for name, number in vars(WHOLE).items()]
print("; ".join(said[:5]))
print("; ".join([*said[5:9], "bf16"]))
print(", ".join(f"{n} {v}" for n, v in plan("data").versions.items()))

# %% what-is-sent
print("axis      operation          times   GB sent by a chip")
for axis in AXES:
    times, sent = Counter(), Counter()
    for c in plan(axis).collectives:
        if c.bytes > 1000:  # not the sum of the loss
            times[c.op] += c.times
            sent[c.op] += c.sent
    for op in times:
        print(f"{axis:9} {op:19} {times[op]:4} {sent[op] / 1e9:12.2f}")

# %% on-two-networks
print("axis        GiB held  ms: arithmetic      ICI   waited      DCN")
for axis in AXES:
    near, far = plan(axis), plan(axis, FAR)
    s, waited = near.seconds, near.estimate["for_network"]
    times = s.compute, s.network, waited, far.seconds.network
    arithmetic, *ms = (f"{1e3 * t:9.0f}" for t in times)
    held = near.memory["peak"] / 2**30
    print(f"{axis:9} {held:10.1f} {arithmetic:>15}", "".join(ms))

# %% on-gpus
LINKS = "NVLink 4 (H100)", "InfiniBand NDR"


def on_gpus(axis):
    """Seconds of arithmetic, on NVLink, on InfiniBand."""
    found = plan(axis)
    arithmetic = sum(found.flops.values()) / chip("H100").peak("bf16")
    return arithmetic, *(traffic.seconds(found.collectives, at) for at in LINKS)


print("axis       ms: arithmetic   NVLink  InfiniBand")
for axis in AXES:
    arithmetic, near, far = (1e3 * t for t in on_gpus(axis))
    print(f"{axis:9} {arithmetic:15.0f} {near:8.0f} {far:11.0f}")


# %% how-far
def four(axis):
    """Arithmetic ÷ network, over ICI, DCN, NVLink and InfiniBand."""
    near, far = plan(axis).seconds, plan(axis, FAR).seconds
    arithmetic, *gpu = on_gpus(axis)
    tpu = near.network, far.network
    return [near.compute / t for t in tpu] + [arithmetic / t for t in gpu]


def weights_per_feature(width, hidden, matrices):
    """A layer's weights ÷ its width; 8 heads of 128 for keys and values."""
    return 2 * width + 2 * 8 * 128 + matrices * hidden


tokens = WHOLE.rows * WHOLE.length // 4
print(f"{'':32} ICI     DCN   NVLink  InfiniBand")
for axis in "data", "fsdp":
    least = "".join(f"{tokens / ratio:9,.0f}" for ratio in four(axis))
    print(f"{axis:6} from tokens a device {least}")
wider = weights_per_feature(16384, 53248, 3) / weights_per_feature(
    WHOLE.width, WHOLE.hidden, 2
)
for name, more in (
    ("tensor up to devices", 1),
    ("  with Llama 3's layers", wider),
):
    most = "".join(f"{1 + 3 * more * ratio:9.1f}" for ratio in four("tensor"))
    print(f"{name:28} {most}")

# %% in-order
print("arithmetic ÷ network          ICI      DCN   NVLink  InfiniBand")
for axis in sorted(AXES, key=lambda axis: four(axis)[1]):
    print(f"{axis:24}", "".join(f"{ratio:9.2f}" for ratio in four(axis)))
