# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% a-cut-array
from minipod import devices, pictures, traffic

devices.simulate(8)

import jax
import jax.numpy as jnp
import numpy as np
from jax import NamedSharding, P
from jax.sharding import AxisType

mesh = jax.make_mesh((2, 4), ("x", "y"))
arr = jnp.arange(32.0).reshape(4, 8)
arr_sharded = jax.device_put(arr, NamedSharding(mesh, P("x", "y")))


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
print(total, jax.typeof(total))
pictures.sharding(total)

# %% contract-traffic
traffic.table(traffic.of(f_contract, arr_sharded))

# %% contract-messages
pictures.traffic(traffic.of(f_contract, arr_sharded), mesh)

# %% currency
for op in "reduce-scatter", "all-gather", "all-reduce":
    print(f"{op:15}{traffic.sent(op, 1024, 4):6,} bytes sent")
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


x = place((4, 8), "x", "y")
for cut_array in arr_sharded, x:
    kind = cut_array.sharding.mesh.axis_types[0]
    promised = jax.eval_shape(f_contract, cut_array).sharding
    print(f"{kind!s:9} {promised and promised.spec}")

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

# %% four-results
for spec in [P("y"), P(("y", "x")), P(("x", "y")), P()]:
    wanted = NamedSharding(auto, spec)
    ask = jax.jit(lambda x: x.sum(axis=0), out_shardings=wanted)
    bill = traffic.of(ask, x)
    sent = [f"{c.sent} by {c.op}" for c in bill]
    print(f"{spec!s:16}", " + ".join(sent), "=", traffic.total(bill))

# %% not-the-cheapest
asked = jax.jit(jnp.matmul, out_shardings=NamedSharding(auto, P()))
within = jax.jit(lambda a, b: asked(a, b))
for k in 64, 8:
    a, b = place((24, k), ("x", "y")), place((k, 72 - k))
    for name, program in ("by itself", asked), ("within another", within):
        (gather,) = traffic.of(program, a, b)
        print(f"24 × {k} @ {k} × {72 - k}, {name:15}{gather.sent:5,} sent")

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


specs = {"hidden": P("x", "y"), "out": P("y", "x")}
layout = jax.tree.map(lambda spec: NamedSharding(auto, spec), specs)
key = jax.random.key(0)

# %% born-sharded
whole, cut = jax.jit(init), jax.jit(init, out_shardings=layout)
for name, program in ("whole", whole), ("cut", cut):
    memory = program.lower(key).compile().memory_analysis()
    out, work = memory.output_size_in_bytes, memory.temp_size_in_bytes
    print(f"{name:6}{out:9,} bytes of parameters, {work:9,} of work space")

numbers = jax.device_get([whole(key), cut(key)])
print("same numbers:", jax.tree.map(np.array_equal, *numbers))

# %% born-on-tpu
print((lesson / "init_tpu.txt").read_text())

# %% captured
weights = place((256, 256), "x", "y")
batch = place((8, 256), "x")

captured = jax.jit(lambda x: x @ weights)
passed = jax.jit(lambda x, w: x @ w)
for program, *args in (captured, batch), (passed, batch, weights):
    lowered = program.lower(*args)
    memory = lowered.compile().memory_analysis()
    given = memory.argument_size_in_bytes
    size = len(lowered.as_text())
    print(f"{size:7,} characters of program, {given:6,} bytes of arguments")

text = str(captured.lower(batch).compile().as_text())
print(next(line.strip() for line in text.splitlines() if "constant(" in line))

# %% then-commas
jax.debug.visualize_array_sharding(total)
