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
from jax import NamedSharding, P
from jax.sharding import AxisType

mesh = jax.make_mesh((2, 4), ("x", "y"))
arr = jnp.arange(32.0).reshape(4, 8)
arr_sharded = jax.device_put(arr, NamedSharding(mesh, P("x", "y")))

# %% picture-array
pictures.sharding(arr_sharded)


# %% elementwise
@jax.jit
def f_elementwise(x):
    return 2 * jnp.sin(x) + 1


result = f_elementwise(arr_sharded)
print("shardings match:", result.sharding == arr_sharded.sharding)
traffic.table(traffic.of(f_elementwise, arr_sharded))


# %% contract
@jax.jit
def f_contract(x):
    return x.sum(axis=0)


total = f_contract(arr_sharded)
print(total)
print(jax.typeof(total))

# %% picture-contract
pictures.sharding(total)

# %% contract-traffic
traffic.table(traffic.of(f_contract, arr_sharded))

# %% contract-messages
pictures.traffic(traffic.of(f_contract, arr_sharded), mesh)

# %% currency
for op in "reduce-scatter", "all-gather", "all-reduce":
    print(f"{op:15}{traffic.sent(op, 1024, 4):6,} bytes sent")

# %% picture-all-reduce
pictures.all_reduce(4)

# %% one-program
import re

compiled = f_contract.lower(arr_sharded).compile()
text = str(compiled.as_text())
for line in text[text.index("ENTRY") :].splitlines():
    print(re.split(", (kind|channel_id|sharding|metadata)=", line)[0])

# %% auto-mesh
auto = jax.make_mesh((2, 4), ("x", "y"), axis_types=(AxisType.Auto,) * 2)


def place(shape, *spec):
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    return jax.device_put(x, NamedSharding(auto, P(*spec)))


# %% four-products
pairs = [
    (P("x", None), P(None, "y")),
    (P("x", "y"), P("y", None)),
    (P(None, "y"), P("y", None)),
    (P("x", "y"), P(None, "y")),
]
for left, right in pairs:
    a, b = place((16, 32), *left), place((32, 8), *right)
    product = jax.jit(jnp.matmul)(a, b)
    bill = traffic.of(jnp.matmul, a, b)
    sent = [f"{c.op} along {c.axes}: {c.sent} bytes sent" for c in bill]
    print(f"{left} @ {right} -> {product.sharding.spec}", *sent, sep="\n    ")

# %% picture-left
pictures.sharding(place((16, 32), "x", "y"))

# %% picture-right
pictures.sharding(place((32, 8), "y", None))

# %% picture-product
a, b = place((16, 32), "x", "y"), place((32, 8), "y", None)
pictures.sharding(jax.jit(jnp.matmul)(a, b))


# %% four-results
def column_sums(x):
    return x.sum(axis=0)


x = place((4, 8), "x", "y")
for spec in [P("y"), P(("y", "x")), P(("x", "y")), P()]:
    wanted = NamedSharding(auto, spec)
    ask = jax.jit(column_sums, out_shardings=wanted)
    bill = traffic.of(ask, x)
    sent = [f"{c.sent} by {c.op}" for c in bill]
    print(f"{str(spec):16}", " + ".join(sent), "=", traffic.total(bill))

# %% everywhere-traffic
traffic.table(traffic.of(ask, x))

# %% everywhere-messages
pictures.traffic(traffic.of(ask, x), auto)


# %% not-the-cheapest
tall, narrow = place((24, 64), ("x", "y")), place((64, 8))
asked = jax.jit(jnp.matmul, out_shardings=NamedSharding(auto, P()))


@jax.jit
def within(a, b):
    return asked(a, b)


for program in asked, within:
    (gather,) = traffic.of(program, tall, narrow)
    print(f"gathers {gather.bytes:5,} bytes, each device sends {gather.sent:,}")

# %% on-tpu
from pathlib import Path

import minipod

lesson = Path(minipod.__file__).parents[1] / "lessons/ch04_jit"
print((lesson / "on_tpu.txt").read_text())


# %% a-model
def init(key):
    one, two = jax.random.split(key)
    return {
        "hidden": jax.random.normal(one, (512, 1024)),
        "out": jax.random.normal(two, (1024, 512)),
    }


layout = {
    "hidden": NamedSharding(auto, P("x", "y")),
    "out": NamedSharding(auto, P("y", "x")),
}
key = jax.random.key(0)


# %% memory-of
def memory_of(program, *args):
    """What one device needs, in bytes, by the compiled program."""
    memory = program.lower(*args).compile().memory_analysis()
    assert memory is not None, "this machine's compiler does not say"
    return memory


# %% born-sharded
whole, cut = jax.jit(init), jax.jit(init, out_shardings=layout)
for name, program in ("whole", whole), ("cut", cut):
    memory = memory_of(program, key)
    out, work = memory.output_size_in_bytes, memory.temp_size_in_bytes
    print(f"{name:6}{out:9,} bytes of parameters, {work:9,} of work space")

numbers = jax.device_get([whole(key), cut(key)])
print("same numbers:", jax.tree.map(np.array_equal, *numbers))

# %% picture-model
pictures.sharding(cut(key)["hidden"])


# %% donation
def shrink(w):
    return 0.9 * w


w = place((1024, 1024), "x", "y")
for donated in (), (0,):
    step = jax.jit(shrink, donate_argnums=donated)
    memory = memory_of(step, w)
    shared, peak = memory.alias_size_in_bytes, memory.peak_memory_in_bytes
    print(f"donated {donated!s:4} shared {shared:7,}, at most {peak:9,} bytes")


# %% same-place
def addresses(x):
    return [s.data.unsafe_buffer_pointer() for s in x.addressable_shards]


before = addresses(w)
w_next = step(w)
print("the same memory:", addresses(w_next) == before)
print("the old array is gone:", w.is_deleted())

# %% captured
weights = place((256, 256), "x", "y")
batch = place((8, 256), "x")

captured = jax.jit(lambda x: x @ weights)
passed = jax.jit(lambda x, w: x @ w)
for program, *args in (captured, batch), (passed, batch, weights):
    size = len(program.lower(*args).as_text())
    given = memory_of(program, *args).argument_size_in_bytes
    print(f"{size:7,} characters of program, {given:6,} bytes of arguments")

# %% captured-constant
text = str(captured.lower(batch).compile().as_text())
print(next(line.strip() for line in text.splitlines() if "constant(" in line))

# %% uncommitted
bias = jnp.ones(8)
print("committed:", bias.committed, "->", jax.typeof(arr_sharded + bias))

there = jax.device_put(bias, jax.devices()[3])
with expect_error(ValueError, "and with device ids [3]"):
    print(arr_sharded + there)

# %% reused
with expect_error(RuntimeError, "Array has been deleted"):
    np.asarray(w)

# %% not-usable
import warnings

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    everywhere = NamedSharding(auto, P())
    moved = jax.jit(shrink, donate_argnums=0, out_shardings=everywhere)
    moved.lower(w_next).compile()
print(str(caught[0].message).splitlines()[0])

# %% then-commas
jax.debug.visualize_array_sharding(total)

# %% then-who-decides
for cut_array in arr_sharded, x:
    kind = cut_array.sharding.mesh.axis_types[0]
    promised = jax.eval_shape(f_contract, cut_array).sharding
    print(f"{kind!s:9} {promised and promised.spec}")

# %% then-contraction
with expect_error(Exception, "Contracting dimensions are sharded"):
    print(arr_sharded @ arr_sharded.T)

# %% then-donation
v = jnp.ones(8)
step(w=v)
print("donated by keyword, on a CPU:", v.is_deleted())
