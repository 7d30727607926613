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
from itertools import pairwise
from pathlib import Path

import minipod
from minipod import devices, pictures
from minipod.chips import chip

devices.simulate(8)
import jax
import jax.numpy as jnp
from jax import P, lax

lesson = Path(minipod.__file__).parents[1] / "lessons/ch20_serving"
sys.path.append(str(lesson))
from arrays import LLAMA_70B, shapes

# %% on-paper
sizes = shapes(LLAMA_70B).items()
read = [math.prod(s) for name, (s, *_) in sizes if name != "embed"]
weights, chips = sum(read), {"TPU v5e": 16, "TPU v5p": 8, "TPU v6e": 16}
print(f"{weights / 1e9:.1f} billion weights, a byte each in int8")
print("           FLOPs a byte  compute bound from  weights read in")
for name, n in (chips | {"H100": 8}).items():
    c = chip(name)
    ratio = c.peak("bf16") / c.bandwidth
    ms = 1e3 * weights / c.bandwidth / n
    line = f"{n:2} {name:8} {ratio:12.0f} {ratio / 2:12.0f} tokens"
    print(f"{line} {ms:13.2f} ms")

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
batches = [2.0**n for n in range(11)]
roofs = {
    f"memory, {length:,}": [
        n / (weights + n * length * place) * v5e.bandwidth * 16 for n in batches
    ]
    for length in (0, 2048, 8192)
}
most = 16 * v5e.peak("bf16") / 2 / weights  # a product and a sum a weight
roofs["compute"] = [most] * len(batches)
pictures.curve(roofs, batches, "batch", "tokens/s", logx=True, logy=True)

# %% one-device
from cache import attend, write

keys = jax.random.split(jax.random.key(0), 3)
q = jax.random.normal(keys[0], (2, 24, 8, 16))
k, v = (jax.random.normal(key, (2, 24, 2, 16)) for key in keys[1:])
expected = jax.nn.dot_product_attention(q, k, v, is_causal=True)
cache = {name: jnp.zeros((1, 32, 2, 2, 16)) for name in "kv"}  # one layer
worst = 0.0
ends = 10, *range(16, 25)  # a prompt of 16 in two chunks, then one at a time
for begin, end in pairwise((0, *ends)):
    now = slice(begin, end)
    cache = write(cache, 0, k[:, now], v[:, now], begin)
    values, _, total = attend(q[:, now], cache, 0, begin)
    worst = max(worst, abs(values / total - expected[:, now]).max())
print(f"8 heads, 2 of keys: differs by {worst:.0e}")


# %% donated
def token(cache, q, k, v, at):
    cache = write(cache, 0, k, v, at)
    values, _, total = attend(q, cache, 0, at)
    return values / total, cache


one = cache, q[:, :1], k[:, :1], v[:, :1], 16
print(f"the cache has {sum(x.nbytes for x in cache.values()):,} bytes")
for given in (), (0,):
    f = jax.jit(token, donate_argnums=given).lower(*one).compile()
    again = f.memory_analysis().alias_size_in_bytes
    print(
        f"donated {given!s:4}: {again:6,} bytes of the results reuse arguments"
    )

# %% too-few-heads
from arrays import SMALL

from minipod.expect import expect_error

eight = jax.NamedSharding(jax.make_mesh((8,), ("h",)), P(None, None, "h"))
with expect_error(ValueError, "evenly divide"):
    jax.device_put(jnp.zeros(SMALL.cache(4, 32)), eight)

# %% three-cuts
from arrays import drawn
from plain import plain
from run import held, mesh_of, sent, serve

w = drawn(SMALL, jax.random.key(0))
tokens = jax.random.randint(jax.random.key(1), (4, 20), 0, SMALL.words)
truth = plain(w, tokens)[:, 11:]  # from the prompt's last token on
print("h×r  cut       bytes: cache  sent in a step  differs by")
for h, r in (4, 2), (2, 4):
    for cut in "heads", "batch", "sequence":
        served = serve(SMALL, mesh_of(h, r), cut, w, tokens, 12, 32)
        off = abs(served[0] - truth).max()
        print(f"{h}×{r}  {cut:9} {held(served[2]):12,}", end="")
        print(f" {sent(served[1]):15,} {off:11.0e}")

# %% int8
from arrays import float_of, int8_of

w8, on = int8_of(w, SMALL), mesh_of(4, 2)
rough = plain(float_of(w8, SMALL), tokens)[:, 11:]
logits = serve(SMALL, on, "batch", w, tokens, 12, 32, int8=True)[0]
whole, small = (sum(x.nbytes for x in jax.tree.leaves(t)) for t in (w, w8))
print(f"weights {whole:,} bytes in float32, {small:,} in int8")
print(f"logits lie between {truth.min():.1f} and {truth.max():.1f}")
print(f"int8 weights move them by at most {abs(rough - truth).max():.2f}")
print(f"an int8 cache moves them again, by {abs(logits - rough).max():.2f}")
same = logits.argmax(-1) == truth.argmax(-1)
print(f"the same next token in {int(same.sum())} of {same.size} places")

# %% plans-cuts
from planned import HEAD, by_schedule, planned, row, sixteen, three

twice = sum(math.prod(s) for name, (s, *_) in sizes if name in ("k", "v"))
print(f"{HEAD}   paper MiB beside")
cases = [(cut, 8, 2) for cut in ("heads", "batch", "sequence")]
for cut, batch, kilo in [*cases, ("heads", 32, 8), ("batch", 32, 8)]:
    parts = 4 if cut == "heads" else 16
    read = weights / 16 + twice * (1 / 4 - 1 / 16)  # copies along r
    read += batch * 1024 * kilo * place / parts
    plan = sixteen(f"{cut}_{batch}_{kilo}k")
    beside = plan.memory["temporaries"] / 2**20
    print(row(plan), f"{1e3 * read / v5e.bandwidth:7.2f} {beside:10.1f}")

# %% order
from arrays import arguments
from decoder import program
from turned import turned

print(f"{HEAD} GiB beside")
for plan in map(sixteen, ("batch_128_2k", "turned_128_2k", "auto_128_2k")):
    print(row(plan), f"{plan.memory['temporaries'] / 2**30:10.2f}")
given = SMALL, mesh_of(4, 2), "batch", True
here = program(*given), arguments(*given, 64, 512)
print("the small model, compiled for CPU:   cache       beside (bytes)")
for name, (f, args) in zip(
    ("batch", "turned"), (here, turned(given[1], SMALL, 64, 512)), strict=True
):
    m = f.lower(*args).compile().memory_analysis()
    print(f"{name:30} {m.alias_size_in_bytes:12,} {m.temp_size_in_bytes:12,}")

# %% latency
every = {n: sixteen(f"batch_{n}_2k") for n in (8, 16, 32, 64, 128, 256, 512)}
made = {n: plan for n, plan in every.items() if plan.fits}
ms = [by_schedule(plan) for plan in made.values()]
print("batch  ms a token  tokens/s of one  of all  MiB beside")
for (n, plan), t in zip(made.items(), ms, strict=True):
    beside = plan.memory["temporaries"] / 2**20
    print(f"{n:5} {t:11.2f} {1e3 / t:16.0f} {1e3 * n / t:7,.0f} {beside:12.1f}")
print("not fitting:", *(n for n in every if n not in made))

# %% latency-curve
kinds = [three(plan) for plan in made.values()]
lines = {"sum": [sum(k) for k in kinds], "schedule": ms}
lines["longest"] = [max(k) for k in kinds]
pictures.curve(lines, list(made), "batch", "milliseconds", logx=True)

# %% slices
from planned import of_network

print(f"{'':9}", HEAD, "   hops   bytes")
for plan in (
    sixteen("batch_32_2k"),
    planned("batch_32_2k", "v5e:8x8", h=8, r=8),
    planned("batch_32_2k", "v6e:4x4", h=4, r=4),
    planned("batch_32_2k", "v5p:2x2x2", h=4, r=2),
    planned("small_batch_32_2k", "v5e:2x4", h=4, r=2),
    sixteen("small_batch_32_2k"),
):
    alone = "".join(f"{ms:8.2f}" for ms in of_network(plan))
    print(f"{plan.on:9}", row(plan) + alone)

# %% published
beside = lesson.parents[1] / "lessons/ch15_pods/published.json"
cases = json.loads(beside.read_text("utf-8"))["rows"].values()
cases = [c for c in cases if c["model"] == "llama3"]
print("x,y,z  batch length kind      longest schedule      sum published tok/s")
for c in cases:
    f, mesh = c["figures"], ",".join(map(str, c["mesh"]))
    kinds = [f[name] for name in ("compute", "memory", "network")]
    times = max(kinds), f["seconds"], sum(kinds), c["published"]
    line = "".join(f"{1e3 * t:9.2f}" for t in times)
    if c["kind"] in ("decode", "kernel"):
        line += f"{1 / c['published']:6.0f}"
    print(f"{mesh:6} {c['batch']:5} {c['length']:6} {c['kind']:8} {line}")

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

# %% gpu
real, h100 = json.loads((lesson / "gpu.json").read_text()), chip("H100")
print(real["device"], "· jax", real["versions"]["jax"], end="")
print(f" · a cache of {real['room']:,} positions")
timed = {(r["int8"], r["batch"], r["way"]): r for r in real["rows"][::-1]}
print("               milliseconds            MiB  extra memory")
print("weights batch  bound  loop  unrolled    read   loop unrolled")
for int8, batch in sorted({key[:2] for key in timed}):
    a, b = (timed[int8, batch, way] for way in ("loop", "unrolled"))
    size = a["weights"] + a["cache"]
    took = [
        1e3 * t for t in (size / h100.bandwidth, a["seconds"], b["seconds"])
    ]
    mib = [n / 2**20 for n in (size, a["temporaries"], b["temporaries"])]
    print(f"{'int8' if int8 else 'bf16':7} {batch:5}", end="")
    print("{:7.2f}{:6.2f}{:10.2f}".format(*took), end="")
    print("{:8,.0f}{:7,.0f}{:9,.0f}".format(*mib))

# %% gpu-longest
for name, kernels in real["longest"].items():
    print(f"{name}, batch 8: milliseconds, times, kernel")
    for kernel, times, seconds in kernels[:6]:
        print(f"{1e3 * seconds:8.2f} {times:4} {kernel}")

# %% gpu-prefill
prompt = next(r for r in real["rows"] if r["prompt"] > 1)
products = prompt["weights"] - 2 * 4096 * 128256  # the head's: one token's
least = products * prompt["prompt"] / h100.peak("bf16")
took = f"{1e3 * prompt['seconds']:.1f} ms, of products at the peak"
print(f"{prompt['prompt']:,} tokens at once, bf16: {took} {1e3 * least:.1f}")
ratios = [
    timed[True, n, "turned"]["seconds"] / timed[True, n, "unrolled"]["seconds"]
    for n in (1, 8, 32, 64)
]
print(f"cache turned, int8: {min(ratios):.2f} to {max(ratios):.2f} as long")

# %% theirs
theirs = json.loads((lesson / "theirs.json").read_text("utf-8"))["plans"]


def speeds(name):
    made, gib = theirs[name], 2**30
    held, sent = made["memory"]["arguments"], sum(made["sent"].values())
    print(f"{name}: {held / gib:.2f} GiB held, {sent / 2**20:.1f} MiB sent")
    took = made["seconds"]
    ways = {"longest": max(took.values()), "schedule": made["estimate"]}
    for way, each in (ways | {"sum": sum(took.values())}).items():
        print(f"  by {way:8} {1e3 * each:5.2f} ms, {1 / each:4.0f} tokens/s")


speeds("theirs_plan.py")
alike = {"batch": 8, "length": 2048, "mesh": [1, 8, 2], "kind": "decode"}
(case,) = (c for c in cases if alike.items() <= c.items())
print(f"  published: {1 / case['published']:.0f} tokens/s")

# %% qwen
speeds("qwen_plan.py")

# %% batching
from batching import arrivals, between, line, simulate

seconds = between({n: t / 1e3 for n, t in zip(made, ms, strict=True)})
prompts = by_schedule(sixteen("prompt_batch_8_2k")) / 1e3
print(f"8 prompts of 512 tokens: {1e3 * prompts:.0f} ms")


def prefill(length):
    return prompts * length / (8 * 512)


# %% simulated
print("6 a second  slots  tokens/s  first, s     95 %")
for slots in 8, 32, 128:
    for name in "static", "continuous":
        given = arrivals(6, 300), slots, name == "continuous"
        print(line(name, slots, simulate(*given, seconds, prefill, 300)))

# %% paged
from paged import paged

lengths = [700, 90, 1500, 300, 1024, 40]
reserved, filled = len(lengths) * 2048, sum(lengths)
print(f"{filled:,} of {reserved:,} positions filled: {filled / reserved:.0%}")
paged(lengths, 2048, 128)

# %% parts-mean
half = {name: x[:, :12] for name, x in cache.items()}
late = {name: x[:, 12:24] for name, x in cache.items()}
last, places = q[:, 23:], ((half, 0), (late, 12))
parts = [attend(last, part, 0, 23, low) for part, low in places]
top = jnp.maximum(parts[0][1], parts[1][1])
scaled = [(v * jnp.exp(m - top), s * jnp.exp(m - top)) for v, m, s in parts]


def off(name, values, total):
    by = abs(values / total - expected[:, 23:]).max()
    print(f"{name:12} differs by {by:.0e}")


off("merged", sum(v for v, _ in scaled), sum(s for _, s in scaled))
off("the mean", sum(v / s for v, _, s in parts), 2)
off("totals as is", sum(v for v, _ in scaled), sum(s for *_, s in parts))

# %% clipped
along = jax.make_mesh((8,), ("s",), (jax.sharding.AxisType.Auto,))


@jax.jit
@jax.shard_map(mesh=along, in_specs=(P("s"), P()), out_specs=P("s"))
def clipped(cache, at):  # of one device: i32[4]; it writes 9
    row = at - lax.axis_index("s") * cache.shape[0]
    return cache.at[jnp.clip(row, 0, cache.shape[0] - 1)].set(9)


print(clipped(jnp.zeros(32, int), 13))

# %% full
full = {name: x[:, :23] for name, x in cache.items()}  # no place for a 24th
full = write(full, 0, k[:, 23:], v[:, 23:], 23)
values, _, total = attend(q[:, 23:], full, 0, 23)
off("full", values, total)
with expect_error(ValueError, "20 tokens and room for 19"):
    serve(SMALL, mesh_of(4, 2), "sequence", w, tokens, 12, 19)

# %% scales
from cache import rounded

k8, v8 = (rounded(x[0, :, 0] * jnp.arange(1, 25)[:, None]) for x in (k, v))
query, exact = q[0, 23, 0], [x[0] * x[1][:, None] for x in (k8, v8)]
truly = jax.nn.softmax(exact[0] @ query / 4) @ exact[1]
for name, a, b in ("k's, v's", k8[1], v8[1]), ("swapped", v8[1], k8[1]):
    scores = k8[0].astype(float) @ query / 4 * a
    found = (jax.nn.softmax(scores) * b) @ v8[0].astype(float)
    print(f"{name:8} differs by {abs(found - truly).max():.0e}")
