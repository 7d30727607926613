"""What every program of this chapter begins with: a cluster, a mesh, a sum."""

import jax
import numpy as np
from jax import P

from minipod.cluster import launch_arguments

jax.distributed.initialize(**launch_arguments())
me = jax.process_index()
mesh = jax.make_mesh((jax.device_count(),), ("i",))


def everyone(mine):  # f32[4, n] from each process: f32[8, n]
    sharding = jax.NamedSharding(mesh, P("i"))
    return jax.make_array_from_process_local_data(sharding, np.float32(mine))


@jax.jit
@jax.shard_map(mesh=mesh, in_specs=P("i"), out_specs=P())
def total(x):  # x: f32[1, n], one device's row
    return jax.lax.psum(x[0], "i")
