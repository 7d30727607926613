"""What the TPU's compiler makes of the chapter's model, sums and product: on_tpu.txt.

Run it in an environment with the extra `pods`; no TPU is needed.
"""

from importlib.metadata import version
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import NamedSharding, P
from jax.experimental import topologies
from jax.lax import with_sharding_constraint
from jax.sharding import AxisType, Mesh

from minipod import traffic

chips = topologies.get_topology_desc(platform="tpu", topology_name="v5e:2x4")
grid = np.array(chips.devices).reshape(2, 4)
auto = Mesh(grid, ("x", "y"))
explicit = Mesh(grid, ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
lines = [f"8 chips of TPU v5e, libtpu {version('libtpu')}"]


def note(name, function, *args):
    compiled = jax.jit(function).lower(*args).compile()
    bill = traffic.read(compiled.as_text() or "", auto)
    parts = [f"{c.op} of {c.bytes} bytes" for c in bill] or ["nothing"]
    out = compiled.output_shardings.spec
    lines.append(f"{name} -> {out}: {', '.join(parts)}")
    lines.append(f"    each device sends {traffic.total(bill)}")


def empty(mesh, shape, *spec):
    sharding = NamedSharding(mesh, P(*spec))
    return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=sharding)


def ask(x, *spec):
    return with_sharding_constraint(x, NamedSharding(auto, P(*spec)))


def model(batch, w1, w2):
    return jnp.tanh(batch @ w1) @ w2


def model_told(*args):
    return ask(model(*args), "x", None)


def model_overruled(batch, w1, w2):
    return ask(jnp.tanh(batch @ w1)) @ w2


w1, w2 = empty(auto, (32, 64), "x", "y"), empty(auto, (64, 32), "y", "x")
for rows in 16, 64:
    batch = empty(auto, (rows, 32), "x", None)
    note(f"model, {rows} rows", model, batch, w1, w2)
    note(f"model_told, {rows} rows", model_told, batch, w1, w2)
batch = empty(auto, (16, 32), "x", None)
note("model_overruled, 16 rows", model_overruled, batch, w1, w2)

x = empty(auto, (4, 8), "x", "y")
for spec in (("x", "y"),), (("y", "x"),), ("x",):
    note("sums", lambda x, spec=spec: ask(x.sum(axis=0), *spec), x)

Path(__file__).with_name("on_tpu.txt").write_text("\n".join(lines) + "\n")
