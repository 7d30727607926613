# %% begin
import sys
from functools import partial
from pathlib import Path

import minipod
from minipod import devices

devices.simulate(8)
import jax
import jax.numpy as jnp
import numpy as np

lesson = Path(minipod.__file__).parents[1] / "lessons/ch19_sequences"
sys.path.append(str(lesson))
from bill import compiled, cut, drawn, figures, put, with_gradient

# %% one-device
attend = partial(jax.nn.dot_product_attention, is_causal=True)
for length in (512, 1024, 2048, 4096):
    one = jax.ShapeDtypeStruct((1, length, 8, 16), jnp.float32)
    _, beside, _ = figures(compiled(attend, one, one, one))
    size = one.size * 4 / 2**10
    print(f"{length:5} positions: q {size:5,.0f} KiB, beside {beside:9,.0f}")


# %% norms-bill
from norms import WAYS, gradients, placed

auto = (jax.sharding.AxisType.Auto,)
along_m = jax.make_mesh((8,), ("m",), auto)
arrays = drawn((2, 1024, 256), (4, 256, 1024), (4, 1024, 256))
results = {}
print("              sent forward   and back     x held   beside (KiB)")
for name in WAYS:
    f, args = placed(name, along_m, arrays)
    once, train = compiled(f, *args), compiled(gradients(f), *args)
    results[name] = once(*args)
    forward, (both, beside, _) = figures(once)[0], figures(train)
    held = args[0].addressable_shards[0].data.nbytes
    print(f"{name:10} {forward:15,} {both:10,} {held:10,} {beside:14,.0f}")
off = abs(results["all-reduce"] - results["halves"]).max()
print(f"largest difference {off:.0e}")

# %% two-ways
from ways import gathered, ulysses

mesh = jax.make_mesh((8,), ("s",), auto)
q, k, v, d_out = whole = drawn(*[(1, 1024, 8, 16)] * 4)
expected, args = attend(q, k, v), put(mesh, whole)
block = q.nbytes // 8
formula = {gathered: 2 * 7 * block, ulysses: 4 * 7 * block // 8}
for way in formula:
    program = compiled(cut(way, mesh), *args[:3])
    sent, beside, _ = figures(program)
    off = abs(program(*args[:3]) - expected).max()
    print(f"{way.__name__:8} by formula {formula[way]:9,}, sent {sent:9,}")
    print(f"         beside {beside:7,.0f} KiB, differs by {off:.0e}")

# %% too-few-heads
from minipod.expect import expect_error

few = put(mesh, drawn((1, 1024, 8, 16), *[(1, 1024, 2, 16)] * 2))
with expect_error(ValueError, "divisible"):
    compiled(cut(ulysses, mesh), *few)

# %% merged
from parts import divided, merge, part

at = jnp.arange(1024)
first = part(q, k[:, :512], v[:, :512], at, at[:512])
second = part(q, k[:, 512:], v[:, 512:], at, at[512:])
off = abs(divided(merge(first, second), q) - expected).max()
print(f"merged, differs by {off:.0e}")

# %% in-pieces
from parts import attention

for pieces in (1, 2, 4, 8):
    f = partial(attention, pieces=pieces)
    program = compiled(f, q, k, v, at, at)
    _, beside, flops = figures(program)
    off = abs(program(q, k, v, at, at) - expected).max()
    print(f"{pieces} pieces: beside {beside:7,.0f} KiB, differs by {off:.0e}")

# %% ring-run
from ring import ring

program = compiled(cut(ring, mesh), *args[:3])
sent, beside, flops = figures(program)
off = abs(program(*args[:3]) - expected).max()
print(f"by formula {2 * 7 * block:,}, sent {sent:,}")
print(f"beside {beside:,.0f} KiB, {flops:.1f} MFLOP, differs by {off:.0e}")

# %% ring-turns
from frames import frames, recorded, seen, turns

from minipod import pictures

pictures.play(turns(recorded(mesh, np.arange(1024)), sent))

# %% picture-ring

four = jax.make_mesh((4,), ("s",), auto)
frames(recorded(four, np.arange(32)))

# %% picture-zigzag
from zigzag import order, zigzag

frames(recorded(four, order(4, 32)))

# %% who-works
for name, places in (("in order", np.arange(1024)), ("zigzag", order(8, 1024))):
    pairs = seen(recorded(mesh, places))
    print(name)
    print("    each device ", *(f"{n:6,}" for n in pairs.sum(axis=0) // 64))
    print("    busiest, turn", *(f"{n:5,}" for n in pairs.max(axis=1) // 64))

# %% zigzag-run
to_zigzag = order(8, 1024)
back = np.argsort(to_zigzag)
dealt = put(mesh, [x[:, to_zigzag] for x in whole])
program = compiled(cut(zigzag, mesh), *dealt[:3])
sent, beside, less = figures(program)
off = abs(program(*dealt[:3])[:, back] - expected).max()
print(f"sent {sent:,}, beside {beside:,.0f} KiB, differs by {off:.0e}")
print(f"{less:.1f} of {flops:.1f} MFLOP: {less / flops * 32:.0f} parts of 32")

# %% backward
from ring_vjp import ring_vjp

again = partial(ring, each=jax.checkpoint)
rings = {"kept": ring, "again": again, "its own": ring_vjp}
_, pull = jax.vjp(attend, q, k, v)
for name, way in rings.items():
    program = compiled(with_gradient(cut(way, mesh)), *args)
    sent, beside, flops = figures(program)
    pairs = zip(program(*args)[1:], pull(d_out), strict=True)
    off = max(abs(a - b).max() for a, b in pairs)
    print(f"{name:8} sent {sent:9,}, {sent // block} blocks of K;", end="")
    print(f" beside {beside:6,.0f} KiB, {flops:.0f} MFLOP, {off:.0e}")

# %% longer
print("positions", *(f"{name:>13}" for name in rings), "(KiB)")
cut_so = args[0].sharding
for length in (512, 1024, 2048):
    one = jax.ShapeDtypeStruct((1, length, 8, 16), jnp.float32, sharding=cut_so)
    train = [with_gradient(cut(way, mesh)) for way in rings.values()]
    beside = [figures(compiled(f, *[one] * 4))[1] for f in train]
    print(f"{length:9}", *(f"{b:13,.0f}" for b in beside))


# %% formulas
def sends(q, kv, n):
    """Bytes of a device: forward, and with the gradient. q, kv: of a block
    of Q, of one of K."""
    round_once = 2 * (n - 1) * kv
    exchanged = (n - 1) * (2 * q + 2 * kv) // n
    return {
        "gathered": (round_once, 2 * round_once),
        "ulysses": (exchanged, 2 * exchanged),
        "ring": (round_once, 2 * round_once),
        "ring_vjp": (round_once, (6 * n - 4) * kv),
        "zigzag": (round_once, 2 * round_once),
    }


def works(n):
    """Products, forward and with the gradient, then scores held at once: all
    as parts of what a block of Q and all keys make."""
    half = (2 * n + 1) / (4 * n)  # of all pairs, what zigzag computes
    return {
        "gathered": (1, 3, 1, 1),
        "ulysses": (1, 3, 1, 1),
        "ring": (1, 3, 1 / n, 1),
        "ring_vjp": (1, 3.5, 1 / n, 1 / n),
        "zigzag": (half, 3 * half, 1 / (4 * n), half),
    }


# %% four-cases
from cases import rows

for row in rows(sends, works):
    print(row)

# %% rule
print("heads    n   ring   ulysses   (blocks of K)")
for heads, groups in ((8, 8), (32, 8), (64, 8)):
    for n in (2, 4, 8, 16):
        times = max(n // groups, 1)  # how often Ulysses repeats K and V
        by_ring = sends(heads, groups, n)["ring"][0]
        by_ulysses = sends(heads, groups * times, n)["ulysses"][0]
        line = f"{heads:2}/{groups} {n:5} {by_ring / groups:6.1f}"
        if heads % n:
            print(line, f"   {n} does not divide {heads} heads of Q")
            continue
        best = "ring" if by_ring < by_ulysses else "ulysses"
        best = "as many" if by_ring == by_ulysses else best
        best += f", K and V {times} times" if times > 1 else ""
        print(line, f"{by_ulysses / groups:9.1f}   {best}")

# %% hides
from planned import HEAD, planned, row

from minipod.chips import chip

plan = planned("128k")[3]
peak, speed = chip("TPU v5p").peak("bf16"), plan.chip.carrier.bytes_per_second
least = peak / speed * 8 / 32  # heads of K over heads of Q
print(f"{plan.name}: from {least:,.0f} positions on a device on")
print(f"with 16,384 by formula {16384 / least * 8 / 7:.1f} times")
s = plan.seconds
print(f"in the plan            {s.compute / s.network:.1f} times")

# %% plans
print(HEAD)
for plan in planned("128k"):
    print(row(plan))

# %% million
from minipod import torus


def links(order):  # to the next device, on a torus of 4 × 4 × 4
    at = np.array(np.unravel_index(order, (4, 4, 4), order="F"))
    apart = abs(at - np.roll(at, -1, axis=1))
    return np.minimum(apart, 4 - apart).sum(0)


print(HEAD)
for plan in planned("million"):
    print(row(plan))
laid = torus.layout((4, 4, 4), cores=1, axes=(64,))
for name, laid_out in ("in these plans", laid), ("by number", np.arange(64)):
    print(f"links to the next device {name}: {max(links(laid_out.ravel()))}")

# %% overlap
print((lesson / "order_tpu.txt").read_text())

# %% not-rescaled
as_they_are = first[0] + second[0], None, first[2] + second[2]
off = abs(divided(as_they_are, q) - expected).max()
print(f"sums added as they are, differs by {off:.1f}")
late = slice(512, None)  # queries that see keys of both halves
mean = (divided(first, q)[:, late] + divided(second, q)[:, late]) / 2
off = abs(mean - expected[:, late]).max()
print(f"mean of both attentions, differs by {off:.1f}")

# %% turns-of
from jax import lax
from ring import on


def turns_of(q, k, v, owner, turns=8):
    n, i, t = 8, lax.axis_index("s"), q.shape[1]
    at = i * t + jnp.arange(t)
    state = part(q, k, v, at, at)
    for r in range(1, turns):
        k, v = on(k, v)
        k_at = owner(i, r) % n * t + jnp.arange(t)
        state = merge(state, part(q, k, v, at, k_at))
    return divided(state, q)


# %% wrong-owner
def off(owner, turns=8):
    f = partial(turns_of, owner=owner, turns=turns)
    return abs(jax.jit(cut(f, mesh))(*args[:3]) - expected).max()


print(f"owner i - r   differs by {off(lambda i, r: i - r):.0e}")
print(f"owner i + r   differs by {off(lambda i, r: i + r):.1f}")
print(f"owner i       differs by {off(lambda i, r: i):.1f}")
print(f"one turn more differs by {off(lambda i, r: i - r, 9):.1f}")
