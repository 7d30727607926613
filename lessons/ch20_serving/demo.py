# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% begin
import json
import math
import sys
from pathlib import Path

import minipod
from minipod import devices, pictures
from minipod.chips import chip

devices.simulate(8)
import jax
import jax.numpy as jnp

lesson = Path(minipod.__file__).parents[1] / "lessons/ch20_serving"
sys.path.append(str(lesson))
from arrays import LLAMA_70B, shapes

# %% on-paper
read = [
    math.prod(s) for n, (s, *_) in shapes(LLAMA_70B).items() if n != "embed"
]
weights = sum(read)
print(f"{weights / 1e9:.1f} billion weights, a byte each in int8")
print("            ops per byte  compute bound from  one step reads for")
for name, chips in (
    ("TPU v5e", 16),
    ("TPU v5p", 8),
    ("TPU v6e", 16),
    ("H100", 8),
):
    c = chip(name)
    ratio = c.peak("bf16") / c.bandwidth
    took = weights / chips / c.bandwidth
    print(
        f"{chips:2} {name:8} {ratio:12.0f} {ratio / 2:12.0f} tokens"
        f" {1e3 * took:13.2f} ms"
    )

# %% what-grows
v5e, place = chip("TPU v5e"), 2 * 80 * 8 * 128  # K and V, layers, heads, width
print(f"one position in the cache: {place:,} bytes")
print("batch  weights  cache  compute (ms, 16 chips, 2,048 positions each)")
for batch in 1, 8, 32, 128, 512:
    times = weights, batch * 2048 * place
    ms = [1e3 * n / 16 / v5e.bandwidth for n in times]
    ms.append(1e3 * 2 * weights * batch / 16 / v5e.peak("bf16"))
    print(f"{batch:5}" + "".join(f"{t:8.2f}" for t in ms))

# %% roofline
sizes = [2.0**n for n in range(11)]
roofs = {
    f"memory, {length:,}": [
        n / (weights + n * length * place) * v5e.bandwidth * 16 for n in sizes
    ]
    for length in (0, 2048, 8192)
}
most = 16 * v5e.peak("bf16") / 2 / weights
roofs["compute"] = [most] * len(sizes)
pictures.curve(roofs, sizes, "batch", "tokens/s", logx=True, logy=True)

# %% one-device
from cache import attend, write

keys = jax.random.split(jax.random.key(0), 3)
q = jax.random.normal(keys[0], (2, 24, 8, 16))
k, v = (jax.random.normal(key, (2, 24, 2, 16)) for key in keys[1:])
expected = jax.nn.dot_product_attention(q, k, v, is_causal=True)
cache = {name: jnp.zeros((1, 32, 2, 2, 16)) for name in "kv"}  # one layer
worst = 0.0
for begin in (0, *range(16, 24)):  # a prompt of 16, then one at a time
    now = slice(begin, begin + 1 if begin else 16)
    cache = write(cache, 0, k[:, now], v[:, now], begin)
    values, _, total = attend(q[:, now], cache, 0, begin)
    worst = max(worst, abs(values / total - expected[:, now]).max())
print(f"8 heads, 2 of keys: differs by {worst:.0e}")

# %% donated
token = (q[:, :1], k[:, :1], v[:, :1], 16)


def step(cache, q, k, v, at):
    cache = write(cache, 0, k, v, at)
    values, _, total = attend(q, cache, 0, at)
    return values / total, cache


print(f"the cache: {sum(x.nbytes for x in cache.values()):,} bytes")
for given in (), (0,):
    f = jax.jit(step, donate_argnums=given)
    m = f.lower(cache, *token).compile().memory_analysis()
    print(
        f"donated {given!s:4}: {m.alias_size_in_bytes:6,} of the results'",
        end="",
    )
    print(f" {m.output_size_in_bytes:,} bytes lie where arguments were")

# %% three-cuts
from arrays import SMALL, drawn
from plain import plain
from run import held, mesh_of, sent, serve

w = drawn(SMALL, jax.random.key(0))
tokens = jax.random.randint(jax.random.key(1), (4, 20), 0, SMALL.words)
truth = plain(w, tokens)[:, 15:]
print("h×r  cut       cache of a device  sent a token  differs by")
for h, r in (4, 2), (2, 4):
    for cut in "heads", "batch", "sequence":
        served = serve(SMALL, mesh_of(h, r), cut, w, tokens, 16, 32)
        off = abs(served[0] - truth).max()
        print(f"{h}×{r}  {cut:9} {held(served[2]):17,}", end="")
        print(f" {sent(served[1]):13,} {off:11.0e}")

# %% too-few-heads
from minipod.expect import expect_error

with expect_error(ValueError, "divisible"):
    serve(SMALL, mesh_of(8, 1), "heads", w, tokens, 16, 32)

# %% int8
from arrays import float_of, int8_of

w8, on = int8_of(w, SMALL), mesh_of(4, 2)
rough = plain(float_of(w8, SMALL), tokens)[:, 15:]
logits = serve(SMALL, on, "batch", w, tokens, 16, 32, int8=True)[0]
whole, small = (sum(x.nbytes for x in jax.tree.leaves(t)) for t in (w, w8))
print(f"weights {whole:,} bytes in float32, {small:,} in int8")
print(f"logits lie between {truth.min():.1f} and {truth.max():.1f}")
print(f"int8 weights move them by at most {abs(rough - truth).max():.2f}")
print(f"an int8 cache moves them again, by {abs(logits - rough).max():.2f}")
same = logits.argmax(-1) == truth.argmax(-1)
print(f"the same next token in {int(same.sum())} of {same.size} places")

# %% plans-cuts
from planned import HEAD, by_schedule, planned, row, sixteen

print(HEAD)
for cut in "heads", "batch", "sequence":
    print(row(sixteen(f"{cut}_8_2k")))
for name in "heads_32_8k", "batch_32_8k":
    print(row(sixteen(name)))

# %% order
print(HEAD)
for name in "batch_128_2k", "turned_128_2k":
    plan = sixteen(name)
    beside = plan.memory["temporaries"] / 2**30
    print(f"{row(plan)}   {beside:.2f} GiB of temporaries")

# %% latency
made = {n: sixteen(f"batch_{n}_2k") for n in (8, 16, 32, 64, 128, 256, 512)}
made = {n: plan for n, plan in made.items() if plan.fits}
ms = [by_schedule(plan) for plan in made.values()]
speed = [1e3 * n / t for n, t in zip(made, ms, strict=True)]
print("batch  ms a token  tokens/s of one  of all")
for n, t, s in zip(made, ms, speed, strict=True):
    print(f"{n:5} {t:11.2f} {1e3 / t:16.0f} {s:7,.0f}")
pictures.curve({"v5e:4x4": speed}, ms, "milliseconds", "tokens/s")

# %% slices
print(HEAD)
print(row(sixteen("batch_32_2k")))
print(row(planned("batch_32_2k", "v5e:8x8", h=8, r=8)))
print(row(planned("batch_32_2k", "v6e:4x4", h=4, r=4)))
print(row(planned("batch_32_2k", "v5p:2x2x2", h=4, r=2)))
print(row(planned("small_batch_32_2k", "v5e:2x4", h=4, r=2)))
print(row(sixteen("small_batch_32_2k")))

# %% published
beside = lesson.parent / "ch15_pods/published.json"
cases = json.loads(beside.read_text("utf-8"))["rows"].values()
cases = [c for c in cases if c["model"] == "llama3"]
print("x,y,z  batch length kind        longest  schedule       sum published")
for c in cases:
    f, mesh = c["figures"], ",".join(map(str, c["mesh"]))
    kinds = [f[name] for name in ("compute", "memory", "network")]
    times = max(kinds), f["seconds"], sum(kinds), c["published"]
    ms = "".join(f"{1e3 * t:10.2f}" for t in times)
    print(f"{mesh:6} {c['batch']:5} {c['length']:6} {c['kind']:8} {ms}")

# %% bounds
inside = {"decode": [], "kernel": [], "prefill": [], "splash": []}
for c in cases:
    kinds = [c["figures"][name] for name in ("compute", "memory", "network")]
    took = c["published"]
    inside[c["kind"]].append((took / max(kinds), took / sum(kinds)))
for kind, found in inside.items():
    low, high = zip(*found, strict=True)
    print(
        f"{kind:8} published ÷ longest {min(low):.2f} to {max(low):.2f},",
        end="",
    )
    print(f" ÷ sum {min(high):.2f} to {max(high):.2f} ({len(found)} rows)")

# %% batching
from batching import arrivals, between, line, simulate

token = between({n: t / 1e3 for n, t in zip(made, ms, strict=True)})
prompts = by_schedule(sixteen("prompt_batch_8_2k")) / 1e3
print(f"8 prompts of 512 tokens: {1e3 * prompts:.0f} ms")


def prefill(length):
    return prompts * length / (8 * 512)


# %% simulated
print("6 a second  slots  tokens/s  first, s     95 %")
for slots in 8, 32, 128:
    for name in "static", "continuous":
        given = arrivals(6, 300), slots, name == "continuous"
        print(line(name, slots, simulate(*given, token, prefill, 300)))

# %% paged
from paged import paged

lengths = [700, 90, 1500, 300, 1024, 40]
reserved, filled = len(lengths) * 2048, sum(lengths)
print(f"{filled:,} of {reserved:,} positions filled: {filled / reserved:.0%}")
paged(lengths, 2048, 128)
