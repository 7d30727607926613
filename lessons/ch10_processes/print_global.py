import jax
import numpy as np
from jax import P
from jax.experimental import multihost_utils

from minipod.cluster import launch_arguments
from minipod.expect import expect_error

jax.distributed.initialize(**launch_arguments())

mesh = jax.make_mesh((jax.device_count(),), ("i",))
sharding = jax.NamedSharding(mesh, P("i"))
mine = np.full(4, jax.process_index(), np.float32)
xs = jax.make_array_from_process_local_data(sharding, mine)

with expect_error(RuntimeError, "non-addressable"):
    np.asarray(xs)

print("mine:", [float(s.data[0]) for s in xs.addressable_shards])
print("all: ", multihost_utils.process_allgather(xs, tiled=True))
