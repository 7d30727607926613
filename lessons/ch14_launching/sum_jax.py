import jax
import numpy as np
from jax import P

from minipod.cluster import launch_arguments

jax.distributed.initialize(**launch_arguments())
mesh = jax.make_mesh((jax.device_count(),), ("i",))

mine = 4 * jax.process_index() + np.arange(4, dtype=np.float32)
cut = jax.NamedSharding(mesh, P("i"))
xs = jax.make_array_from_process_local_data(cut, mine)  # f32[4 × processes]


def total(xs):
    return xs.sum()


with jax.set_mesh(mesh):
    print("brought", mine, "total", jax.jit(total)(xs))
    slope = jax.jit(jax.grad(total))(xs)
print("slope", [float(shard.data[0]) for shard in slope.addressable_shards])
