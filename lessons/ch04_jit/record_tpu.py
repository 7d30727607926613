"""What the TPU's compiler makes of the chapter's products and sums: on_tpu.txt.

Run it in an environment with the extra `pods`; no TPU is needed.
"""

from functools import partial
from importlib.metadata import version
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import NamedSharding, P
from jax.experimental import topologies
from jax.sharding import Mesh

from minipod import traffic

chips = topologies.get_topology_desc(platform="tpu", topology_name="v5e:2x4")
mesh = Mesh(np.array(chips.devices).reshape(2, 4), ("x", "y"))
lines = [f"8 chips of TPU v5e, libtpu {version('libtpu')}"]


def note(name, function, *args, **settings):
    compiled = jax.jit(function, **settings).lower(*args).compile()
    bill = traffic.read(compiled.as_text() or "", mesh)
    parts = [f"{c.op} of {c.bytes} bytes" for c in bill] or ["nothing"]
    lines.append(f"{name}: {', '.join(parts)}")
    lines.append(f"    each device sends {traffic.total(bill)}")


def empty(shape, *spec):
    sharding = NamedSharding(mesh, P(*spec))
    return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=sharding)


exact = partial(jnp.matmul, precision="highest")
for left, right in (
    (P("x", None), P(None, "y")),
    (P("x", "y"), P("y", None)),
    (P(None, "y"), P("y", None)),
    (P("x", "y"), P(None, "y")),
):
    factors = empty((16, 32), *left), empty((32, 8), *right)
    note(f"{left} @ {right}", jnp.matmul, *factors)
note("the last, precision highest", exact, *factors)

for columns, spec in (
    (8, P("y")),
    (8, P(("y", "x"))),
    (8, P(("x", "y"))),
    (8, P()),
    (8192, P()),
):
    wanted = NamedSharding(mesh, spec)
    x, name = empty((4, columns), "x", "y"), f"{columns} column sums, {spec}"
    note(name, lambda x: x.sum(axis=0), x, out_shardings=wanted)

Path(__file__).with_name("on_tpu.txt").write_text("\n".join(lines) + "\n")
