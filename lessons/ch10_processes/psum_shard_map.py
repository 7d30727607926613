import jax
import numpy as np
from jax import P

from minipod.cluster import launch_arguments

jax.distributed.initialize(**launch_arguments())

mesh = jax.make_mesh((jax.device_count(),), ("i",))  # all devices of all hosts
first = jax.process_index() * jax.local_device_count()
mine = np.arange(first, first + jax.local_device_count(), dtype=np.float32)

sharding = jax.NamedSharding(mesh, P("i"))
xs = jax.make_array_from_process_local_data(sharding, mine)
print("I brought", mine, "to an array of shape", xs.shape)


@jax.jit
@jax.shard_map(mesh=mesh, in_specs=P("i"), out_specs=P())
def total(x):  # x: f32[1], what one device holds
    return jax.lax.psum(x.sum(), "i")


print("the total is", total(xs))
