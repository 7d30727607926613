# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% imports
from functools import partial

from minipod import devices, pictures, traffic
from minipod.expect import expect_error

devices.simulate(32)

import jax
import jax.numpy as jnp
import numpy as np
from jax import NamedSharding, P, lax

# %% four-blocks
four = jax.make_mesh((4,), ("x",))
numbers = (10 * jnp.arange(4)[:, None] + jnp.arange(4)).ravel()
x = jax.device_put(numbers, NamedSharding(four, P("x")))
pictures.sharding(x)


# %% on-each
def on_each(f, mesh):
    """Run f on every device: each has its own block, and its own result."""
    cut = P(mesh.axis_names)
    return jax.jit(jax.shard_map(f, mesh=mesh, in_specs=cut, out_specs=cut))


def show(f, mesh=four):
    """What each device has before and after f, and what was sent for it."""
    x = jax.device_put(numbers, NamedSharding(mesh, P(mesh.axis_names)))
    trace = pictures.before_and_after(on_each(f, mesh), x)
    print("a device sends", trace.steps[-1].sent, "bytes")
    return pictures.play(trace)


# %% psum
show(lambda block: lax.psum(block, "x"))

# %% mean-max-min
for ask in lax.pmean, lax.pmax, lax.pmin:
    program = on_each(partial(ask, axis_name="x"), four)
    (bill,) = traffic.of(program, x)
    everyone = program(x).addressable_shards[0].data
    print(f"{ask.__name__:6}{everyone!s:18} {bill.op} of {bill.bytes} bytes")

# %% all-gather
show(lambda block: lax.all_gather(block, "x", tiled=True))

# %% tiled-or-not
for tiled in True, False:
    ask = partial(lax.all_gather, axis_name="x", tiled=tiled)
    block = on_each(ask, four)(x).addressable_shards[0].data
    print(f"tiled={tiled!s:6}", block.shape)

# %% psum-scatter
show(lambda block: lax.psum_scatter(block, "x", tiled=True))

# %% two-halves
eight = jax.make_mesh((8,), ("x",))
long = jax.device_put(jnp.arange(2048.0), NamedSharding(eight, P("x")))


def two_halves(block):
    piece = lax.psum_scatter(block, "x", tiled=True)
    return lax.all_gather(piece, "x", tiled=True)


one = on_each(lambda block: lax.psum(block, "x"), eight)
two = on_each(two_halves, eight)
print("the same sums:", np.array_equal(one(long), two(long)))
(bill,) = traffic.of(one, long)
print(f"at once: {bill.op} of {bill.bytes:,} bytes, {bill.sent:,} sent")
traffic.table(traffic.of(two, long))

# %% on-tpu
from pathlib import Path

import minipod

lesson = Path(minipod.__file__).parents[1] / "lessons/ch07_collectives"
print((lesson / "on_tpu.txt").read_text())

# %% ppermute
show(lambda block: lax.ppermute(block, "x", [(0, 1), (1, 2), (2, 3), (3, 0)]))

# %% ppermute-line
show(lambda block: lax.ppermute(block, "x", [(0, 1), (1, 2), (2, 3)]))

# %% all-to-all
show(lambda block: lax.all_to_all(block, "x", 0, 0, tiled=True))

# %% along-y
grid = jax.make_mesh((2, 4), ("x", "y"))
show(lambda block: lax.psum(block, "y"), grid)

# %% along-x
show(lambda block: lax.psum(block, "x"), grid)


# %% pieces
from lessons.ch07_collectives.traced import traced_ring

pictures.play(traced_ring(four))

# %% ring
around = [(i, (i + 1) % 8) for i in range(8)]


def ring(block):
    total = moving = block
    for _ in range(7):
        moving = lax.ppermute(moving, "x", around)
        total += moving
    return total


unrolled = on_each(ring, eight)
print("the same sums:", np.array_equal(unrolled(long), one(long)))
pictures.traffic(traffic.of(unrolled, long), eight)

# %% rounding
from lessons.ch07_collectives.programs import ring_of_pieces

normal = np.random.default_rng(7).normal(size=2048).astype(np.float32)
noise = jax.device_put(normal, long.sharding)
ways = {"whole rows": unrolled, "pieces": on_each(ring_of_pieces, eight)}
expected = np.array(one(noise))
for way, program in ways.items():
    sums = np.array(program(noise)).reshape(8, -1)
    alike = (sums == sums[0]).all()
    print(f"{way:11} all alike: {alike!s:6}", end=" ")
    print(f"at most apart: {np.ptp(sums, axis=0).max():.0e}", end="  ")
    print(f"equal to psum: {(sums.ravel() == expected).mean():.0%}")


# %% ring-loop
def ring_loop(block):
    def step(_, carry):
        total, moving = carry
        moving = lax.ppermute(moving, "x", around)
        return total + moving, moving

    return lax.fori_loop(0, 7, step, (block, block))[0]


# %% loop-bill
looped = on_each(ring_loop, eight)
for program in unrolled, looped:
    text = str(program.lower(long).compile().as_text())
    lines = text.count(" collective-permute(")
    total = traffic.total(traffic.of(program, long))
    print(f"collective-permutes in the text: {lines}, bytes: {total:,}")
traffic.table(traffic.of(looped, long))


# %% roofline
from minipod.chips import CHIPS

chip, width = CHIPS["TPU v5e"], 4096
matrix = 2 * width * width  # bytes of bf16[4096, 4096]
print(" rows  compute   memory  network  (ms)")
for rows in 128, 1024, 8192:
    flops = 3 * 2 * rows * width * width  # one product forward, two back
    moved = 3 * (matrix + 2 * 2 * rows * width)  # the 3 arrays of each, once
    sent = 2 * 7 / 8 * matrix  # the gradient, summed over eight chips
    compute = 1e3 * flops / chip.peak("bf16")
    memory = 1e3 * moved / chip.bandwidth
    network = 1e3 * sent / chip.carrier.bytes_per_second
    print(f"{rows:5} {compute:8.2f} {memory:8.2f} {network:8.2f}")

# %% by-hand
from minipod.traffic import LINKS


def sum_of(size):
    """The bill of a psum of so many bytes on each of eight devices."""
    cut = NamedSharding(eight, P("x"))
    x = jax.ShapeDtypeStruct((8 * size // 4,), jnp.float32, sharding=cut)
    return traffic.of(one, x)


link = LINKS["NVLink 4 (H100)"]
bill = sum_of(2**28)
sent = 2 * 7 / 8 * 2**28
print(f"by hand:   {sent:,.0f} bytes, {sent / link.bytes_per_second:.6f} s")
took = traffic.seconds(bill, link, eight)
print(f"the model: {bill[0].sent:,} bytes, {took:.6f} s")

# %% three-links
names = ["TPU v4", "NVLink 4 (H100)", "InfiniBand NDR", "1 Gbit Ethernet"]
small, large = sum_of(2**10), sum_of(2**28)
heads = ("GB/s", 6), ("start", 9), ("hop", 9), ("1 KiB", 9), ("256 MiB", 11)
print(f"{'':16}", *(f"{head:>{width}}" for head, width in heads))
for name in names:
    on = LINKS[name]
    us = [on.start, on.latency, traffic.seconds(small, on, eight)]
    print(f"{name:16} {on.bytes_per_second / 1e9:6.3g}", end=" ")
    print(*(f"{1e6 * each:6.1f} µs" for each in us), end=" ")
    print(f"{traffic.seconds(large, on, eight) * 1e3:8.2f} ms")

# %% curves
sizes = [4**k for k in range(4, 15)]
bills = [sum_of(size) for size in sizes]
times = {n: [traffic.seconds(b, n, eight) for b in bills] for n in names}
pictures.curve(times, sizes, "bytes", "seconds", logx=True, logy=True)


# %% axes-of-the-machine
def sum_over(shape):
    """The bill of a psum of 256 MiB on each device, over all axes."""
    mesh = jax.make_mesh(shape, ("x", "y", "z")[: len(shape)])
    cut = NamedSharding(mesh, P(mesh.axis_names))
    x = jax.ShapeDtypeStruct((mesh.size * 2**26,), "float32", sharding=cut)
    whole = on_each(lambda block: lax.psum(block, mesh.axis_names), mesh)
    return traffic.of(whole, x), mesh


for shape in (8,), (2, 4), (2, 2, 2):
    bill, mesh = sum_over(shape)
    took = traffic.seconds(bill, "TPU v5e", mesh)
    print(f"{shape!s:10} sent {bill[0].sent:,}   {took * 1e3:5.2f} ms")

# %% closed-or-not
print("in a row     TPU v4     TPU v5e")
for n in 4, 8, 12, 16:
    bill, mesh = sum_over((n,))
    ms = [1e3 * traffic.seconds(bill, f"TPU {v}", mesh) for v in ("v4", "v5e")]
    print(f"{n:8} {ms[0]:7.2f} ms {ms[1]:8.2f} ms")

# %% measured
from lessons.ch07_collectives import figures

figures.measured()

# %% where-it-is-flat
usual = sum_of(2 * 8192 * 3584)
flat, model = (1e6 * traffic.seconds(b, link, eight) for b in (small, usual))
print(f"start and hops: {flat:.0f} µs, the model: {model:.0f} µs", end=", ")
print(f"measured: {traffic.total(usual) / 150e9 * 1e6:.0f} µs")

# %% bf16
for dtype in jnp.bfloat16, jnp.float16:
    array = long.astype(dtype)
    print(f"{array.dtype!s:9} {array.nbytes // 8} bytes each; sent for", end="")
    for way, program in ("psum", one), ("its halves", two), ("ring", unrolled):
        print(f" {way}: {traffic.total(traffic.of(program, array)):,}", end="")
    print()

# %% gather-to-sum
rows = jax.device_put(jnp.ones((64, 256)), NamedSharding(eight, P("x")))
gather_all = on_each(  # a block is f32[8, 256]
    lambda block: lax.all_gather(block, "x", tiled=True).sum(axis=0), eight
)
sum_first = on_each(lambda block: lax.psum(block.sum(axis=0), "x"), eight)
print("the same sums:", np.array_equal(gather_all(rows), sum_first(rows)))
for program in gather_all, sum_first:
    (bill,) = traffic.of(program, rows)
    print(f"{bill.op} of {bill.bytes:,} bytes, {bill.sent:,} sent")


# %% two-gradients
pair = jax.make_mesh((2,), ("x",))
data = jax.device_put(jnp.arange(2.0), NamedSharding(pair, P("x")))


def loss(w, d):
    return jnp.sum((w**2 + 1) * d)


def for_each(f, check_vma=True):
    """f(w, d) on two devices: w is 1 on both, d is 0 and 1."""
    run = jax.shard_map(
        lambda w, d: f(w, d)[None],
        mesh=pair,
        in_specs=(P(), P("x")),
        out_specs=P("x"),
        check_vma=check_vma,
    )
    return jax.jit(run)(1.0, data)


# %% grad-of-psum
def psummed_loss(w, d):
    return lax.psum(loss(w, d), "x")


for check in True, False:
    result = for_each(jax.grad(psummed_loss), check_vma=check)
    print(f"check_vma={check!s:6}", result)


# %% already-summed
def average(w, d):
    return lax.pmean(jax.grad(loss)(w, d), "x")


def average_of_own(w, d):
    own = lax.pcast(w, "x", to="varying")
    return lax.pmean(jax.grad(loss)(own, d), "x")


print("pmean of grad:  ", for_each(average))
print("its own w first:", for_each(average_of_own))
print("check_vma=False:", for_each(average, check_vma=False))


# %% carry
def twice(block, start):
    return lax.fori_loop(0, 2, lambda _, total: total + block, start)


with expect_error(TypeError, "manual axis types do not match"):
    on_each(lambda b: twice(b, jnp.zeros(4, int)), four)(x)

print(on_each(lambda b: twice(b, jnp.zeros_like(b)), four)(x))


# %% not-the-same
def known_to_all(block):
    return lax.all_gather(block, "x", tiled=True, to="invarying")


known = {"mesh": four, "in_specs": P("x"), "out_specs": P()}
with expect_error(ValueError, "could not infer replication"):
    jax.shard_map(lambda b: lax.all_gather(b, "x"), **known)(x)
print(jax.typeof(jax.shard_map(known_to_all, **known)(x)))

# %% one-line-two-arrays
gradient = {"w": jnp.ones((8, 256)), "b": jnp.ones((8, 16))}
gradient = jax.device_put(gradient, NamedSharding(eight, P("x")))
text = str(one.lower(gradient).compile().as_text())
line = next(line for line in text.splitlines() if " all-reduce(" in line)
print(line.strip().split("(%")[0])
traffic.table(traffic.of(one, gradient))

# %% merged
apart = on_each(lambda g: {k: lax.psum(v, "x") for k, v in g.items()}, eight)
for program in one, apart:
    lowered = program.lower(gradient)
    asked = lowered.as_text().count("stablehlo.all_reduce")
    compiled = str(lowered.compile().as_text()).count(" all-reduce(")
    print(f"all-reduces that JAX asks for: {asked}, in the program: {compiled}")

# %% then-pmap
xs = jnp.ones(jax.local_device_count())
sums = jax.pmap(lambda x: lax.psum(x, "i"), axis_name="i")(xs)
print(sums.shape, repr(sums[:8]))


# %% then-groups
def in_pairs(block):
    return lax.psum(block, "x", axis_index_groups=[[0, 1], [2, 3]])


print(jax.pmap(in_pairs, axis_name="x")(numbers.reshape(4, 4))[:, 0])
with expect_error(NotImplementedError):
    on_each(in_pairs, four)(x)

# %% now-groups
pairs = jax.make_mesh((2, 2), ("pair", "member"))
show(lambda block: lax.psum(block, "member"), pairs)


# %% then-names
def sizes_of(block):
    print("psum(1):", lax.psum(1, "x"), " axis_size:", lax.axis_size("x"))
    return block


on_each(sizes_of, four).trace(x)
print("pvary:", hasattr(lax, "pvary"), " pcast:", hasattr(lax, "pcast"))

# %% then-orders
for name in "InfiniBand NDR, 8 a node", "InfiniBand NDR", "1 Gbit Ethernet":
    ratio = link.bytes_per_second / LINKS[name].bytes_per_second
    print(f"{name:24} {ratio:7,.1f} times slower than NVLink 4")
