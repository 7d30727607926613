# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% a-cut-array
from minipod import devices, pictures, traffic
from minipod.expect import expect_error

devices.simulate(8)

import jax
import jax.numpy as jnp
import numpy as np
from jax import NamedSharding, P, lax
from jax.sharding import AxisType

mesh = jax.make_mesh((8,), ("x",))
x = jax.device_put(jnp.arange(32), NamedSharding(mesh, P("x")))
pictures.sharding(x)


# %% local-shape
def double(block):
    print("device local shape:", block.shape)
    return 2 * block


print("global shape:      ", x.shape)
print(jax.shard_map(double, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(x))

# %% by-definition
blocks = np.split(np.asarray(x), mesh.size)  # in_specs
results = [2 * block for block in blocks]  # what the devices do
print(np.concatenate(results))  # out_specs

# %% turn-blocks
grid = jax.make_mesh((2, 4), ("x", "y"))
table = jnp.arange(32.0).reshape(4, 8)
table = jax.device_put(table, NamedSharding(grid, P("x", "y")))

transpose = jax.shard_map(
    lambda block: block.T,
    mesh=grid,
    in_specs=P("x", "y"),
    out_specs=P("y", "x"),
)
turned = transpose(table)
print(jax.typeof(table), "->", jax.typeof(turned))
print("the transpose:", np.array_equal(turned, np.asarray(table).T))
print("bytes sent:", traffic.total(traffic.of(transpose, table)))

# %% picture-turned
pictures.sharding(turned)


# %% set-mesh
with jax.set_mesh(mesh):
    y = jax.device_put(jnp.arange(32), P("x"))
    print(jax.shard_map(lambda block: 2 * block, out_specs=P("x"))(y))


# %% sum-per-shard
@jax.shard_map(mesh=mesh, in_specs=P("x"), out_specs=P("x"))
def sums(block):
    return block.sum(keepdims=True)


print(sums(x))

# %% picture-no-arrows
pictures.traffic(traffic.of(sums, x), mesh)


# %% total
@jax.shard_map(mesh=mesh, in_specs=P("x"), out_specs=P())
def total(block):
    sum_in_shard = block.sum()
    return lax.psum(sum_in_shard, "x")


print(total(x), "on", len(total(x).addressable_shards), "devices")
pictures.traffic(traffic.of(total, x), mesh)


# %% types-inside
@jax.shard_map(mesh=mesh, in_specs=(P("x"), P()), out_specs=P())
def weighted(block, weight):
    print("block         ", jax.typeof(block))
    print("weight        ", jax.typeof(weight))
    print("weight * block", jax.typeof(weight * block))
    everyone = lax.psum((weight * block).sum(), "x")
    print("after psum    ", jax.typeof(everyone))
    return everyone


print(weighted(x, jnp.int32(3)))

# %% not-licensed
with expect_error(ValueError, "could not infer replication"):
    jax.shard_map(jnp.sum, mesh=mesh, in_specs=P("x"), out_specs=P())(x)


# %% one-axis-left-out
@jax.shard_map(mesh=grid, in_specs=P("x", "y"), out_specs=P("x"))
def row_sums(block):
    return lax.psum(block.sum(axis=1), "y")


print(jax.typeof(row_sums(table)), row_sums(table))


# %% who-am-i
def positions():
    return lax.axis_index("x") * 4 + jnp.arange(4)


count = jax.shard_map(positions, mesh=mesh, in_specs=(), out_specs=P("x"))
print(count())


# %% choose-by-number
@jax.shard_map(mesh=mesh, in_specs=P("x"), out_specs=P("x"))
def only_three(block):
    return jnp.where(lax.axis_index("x") == 3, block, 0)


@jax.shard_map(mesh=mesh, in_specs=P("x"), out_specs=P("x"))
def only_three_if(block):
    return block if lax.axis_index("x") == 3 else 0 * block


print(only_three(x))
with expect_error(Exception, "Attempted boolean conversion"):
    only_three_if(x)


# %% from-the-left
@jax.shard_map(mesh=mesh, in_specs=P("x"), out_specs=P("x"))
def steps(block):
    to_the_right = [(i, i + 1) for i in range(lax.axis_size("x") - 1)]
    before = lax.ppermute(block[-1:], "x", to_the_right)
    return block - jnp.concatenate([before, block[:-1]])


print(steps(x * x))

# %% picture-from-the-left
pictures.traffic(traffic.of(steps, x), mesh)

# %% without-jit
pair = jax.make_mesh((2,), ("x",), devices=jax.devices()[:2])


@jax.shard_map(mesh=pair, in_specs=P("x"), out_specs=P("x"))
def look(block):
    print(block)
    return block


two_parts = jax.device_put(jnp.arange(8), NamedSharding(pair, P("x")))
print("--- without jit")
same = look(two_parts)
print("--- with jit")
same = jax.jit(look)(two_parts)


# %% part-of-a-program
@jax.jit
def shares(x):
    return x / total(x)


print(jax.typeof(shares(x)))
traffic.table(traffic.of(shares, x))


# %% print-inside
@jax.jit
@jax.shard_map(mesh=mesh, in_specs=P("x"), out_specs=P("x"))
def report(block):
    jax.debug.print("device {} has {}", lax.axis_index("x"), block)
    return block


same = report(x)
jax.effects_barrier()  # the messages come when they come: wait for all


# %% where-it-lies
def inside(block):
    jax.debug.inspect_array_sharding(
        block, callback=lambda s: print("inside: ", s.spec)
    )
    return 2 * block


@jax.jit
def outside(x):
    y = jax.shard_map(inside, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(x)
    jax.debug.inspect_array_sharding(
        y, callback=lambda s: print("outside:", s.spec)
    )
    return y


same = outside(x)


# %% one-sum-or-two
def by_hand(block):
    return lax.psum(block.sum(), ("x", "y"))


hand = jax.shard_map(by_hand, mesh=grid, in_specs=P("x", "y"), out_specs=P())
for name, f, data in (
    ("table, by the compiler", jnp.sum, table),
    ("table, by hand", hand, table),
    ("x, by the compiler", jnp.sum, x),
    ("x, by hand", total, x),
):
    bill = [f"{c.sent} bytes along {c.axes}" for c in traffic.of(f, data)]
    print(f"{name:23}", ", ".join(bill))

# %% argmax-by-jit
print("exercise 3:", traffic.sent("all-reduce", 8, 8), "bytes sent")
traffic.table(traffic.of(jnp.argmax, x))

# %% on-tpu
from pathlib import Path

import minipod

lesson = Path(minipod.__file__).parents[1] / "lessons/ch06_shard_map"
print((lesson / "on_tpu.txt").read_text())


# %% check-off
def forgotten(block):
    return block.sum()


unchecked = jax.shard_map(
    forgotten, mesh=mesh, in_specs=P("x"), out_specs=P(), check_vma=False
)
wrong = unchecked(x)
print(wrong, "and its sharding says", wrong.sharding.spec)
print("its copies:", [int(copy.data) for copy in wrong.addressable_shards])


# %% alone-in-a-branch
import os
import re
import subprocess
import sys

program = """
import jax
from jax import NamedSharding, P, lax

jax.config.update("jax_num_cpu_devices", 8)
mesh = jax.make_mesh((8,), ("x",))
x = jax.device_put(jax.numpy.arange(8), NamedSharding(mesh, P("x")))

def previous(block):
    send = lambda: lax.ppermute(block, "x", [(i, i + 1) for i in range(7)])
    return lax.cond(lax.axis_index("x") > 0, send, lambda: 0 * block)

print(jax.shard_map(previous, mesh=mesh, out_specs=P("x"))(x))
"""
patience = "--xla_cpu_collective_call_terminate_timeout_seconds=3"
ended = subprocess.run(
    [sys.executable, "-c", program],
    env=os.environ | {"XLA_FLAGS": patience},
    capture_output=True,
    text=True,
)
print(re.findall("Expected 8 threads.*only.*", ended.stderr)[0])
print("ended by signal", -ended.returncode)


# %% all-take-part
def previous(block):
    above = lax.ppermute(block, "x", [(i, i + 1) for i in range(7)])
    return jnp.where(lax.axis_index("x") > 0, above, -1)


print(jax.shard_map(previous, mesh=mesh, out_specs=P("x"))(x))


# %% twice
def twice(block):
    total = lax.psum(block.sum(), "x")
    return lax.psum(total, "x")


print(jax.shard_map(twice, mesh=mesh, in_specs=P("x"), out_specs=P())(x))

# %% no-such-axis
with expect_error(NameError, "unbound axis name"):
    jax.jit(lambda x: lax.psum(x.sum(), "x"))(x)

with expect_error(AssertionError):
    jax.shard_map(lambda b: lax.psum(b, "i"), mesh=mesh, out_specs=P())(x)

# %% nothing-to-join
with expect_error(ValueError, "has rank 0"):
    jax.shard_map(jnp.sum, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(x)

# %% hidden-gather
auto = jax.make_mesh((8,), ("x",), axis_types=(AxisType.Auto,))
cut = jax.device_put(jnp.arange(32), NamedSharding(auto, P("x")))
gathered = jax.shard_map(double, mesh=auto, in_specs=P(), out_specs=P())

with expect_error(ValueError, "does not match the specs of the input"):
    jax.shard_map(double, mesh=mesh, in_specs=P(), out_specs=P())(x)

traffic.table(traffic.of(gathered, cut))

# %% then-import
import warnings

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from jax.experimental.shard_map import shard_map

    old = shard_map(double, mesh, P("x"), P("x"), check_rep=True)(x)
print(caught[0].category.__name__, caught[0].message, sep="\n")

with expect_error(TypeError, "check_rep"):
    jax.shard_map(double, mesh=mesh, out_specs=P("x"), check_rep=True)


# %% then-uncut
@jax.jit
def f_elementwise(x):
    return 2 * jnp.sin(x) + 1


f_elementwise_sharded = jax.shard_map(
    f_elementwise, mesh=mesh, in_specs=P("x"), out_specs=P("x")
)
arr = jnp.arange(32)
with expect_error(ValueError, "does not match the specs of the input"):
    f_elementwise_sharded(arr)

# %% now-cut-first
arr = jax.device_put(arr, NamedSharding(mesh, P("x")))
print(np.asarray(f_elementwise_sharded(arr))[:4])
for f in jax.shard_map(double, mesh=mesh, out_specs=P("x")), sums, total:
    print(f(arr))
