"""What the TPU's compiler makes of the chapter's sums, and of its argmax: on_tpu.txt.

Run it in an environment with the extra `pods`; no TPU is needed.
"""

from importlib.metadata import version
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import NamedSharding, P
from jax.experimental import topologies
from jax.sharding import AxisType, Mesh

from minipod import traffic

chips = topologies.get_topology_desc(platform="tpu", topology_name="v5e:2x4")
chips = np.array(chips.devices)
line = Mesh(chips.reshape(8), ("x",), axis_types=(AxisType.Explicit,))
grid = Mesh(
    chips.reshape(2, 4), ("x", "y"), axis_types=(AxisType.Explicit,) * 2
)
lines = [f"8 chips of TPU v5e, libtpu {version('libtpu')}"]


def note(name, function, mesh, shape, dtype):
    spec = P(*mesh.axis_names)
    x = jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, spec))
    compiled = jax.jit(function).lower(x).compile()
    bill = traffic.read(compiled.as_text() or "", mesh)
    parts = [f"{c.op} of {c.bytes} bytes along {c.axes}" for c in bill]
    lines.append(f"{name}: {', '.join(parts)}")
    lines.append(f"    each device sends {traffic.total(bill)}")


note("sum of the table", jnp.sum, grid, (4, 8), jnp.float32)
note("sum of x", jnp.sum, line, (32,), jnp.int32)
note("argmax of x", jnp.argmax, line, (32,), jnp.int32)

Path(__file__).with_name("on_tpu.txt").write_text("\n".join(lines) + "\n")
