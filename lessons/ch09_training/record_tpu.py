"""What the TPU's compiler writes for FSDP by constraints: fsdp_tpu.txt.

Run it in an environment with the extra `pods`; no TPU is needed.
"""

from importlib.metadata import version
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from adam import start
from constraints import by_constraints
from jax import NamedSharding, P
from jax.experimental import topologies
from jax.sharding import Mesh
from model import LENGTH, init
from parallel import layout, parallel

from minipod import traffic

chips = topologies.get_topology_desc(platform="tpu", topology_name="v5e:2x4")
mesh = Mesh(np.array(chips.devices).reshape(8, 1), ("data", "model"))
_, places = parallel(mesh, layout("data"))
step = by_constraints(mesh, layout("data"))
state = jax.eval_shape(lambda: start(init(jax.random.key(0))))
tokens = jax.ShapeDtypeStruct((16, LENGTH + 1), jnp.int32)


def on(array, spec):
    sharding = NamedSharding(mesh, spec)
    return jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=sharding)


shardings = jax.tree.map(lambda spec: NamedSharding(mesh, spec), places)
jitted = jax.jit(step, donate_argnums=0, out_shardings=(shardings, None))
arguments = jax.tree.map(on, state, places), on(tokens, P("data"))
compiled = jitted.lower(*arguments).compile()
with Path(__file__).with_name("fsdp_tpu.txt").open("w") as file:
    print("TPU v5e, 8 chips, libtpu", version("libtpu"), file=file)
    print(
        traffic.table(traffic.read(compiled.as_text() or "", mesh)), file=file
    )
