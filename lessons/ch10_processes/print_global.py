import jax
import numpy as np
from jax import P

from minipod.cluster import launch_arguments
from minipod.expect import expect_error

jax.distributed.initialize(**launch_arguments())

mesh = jax.make_mesh((jax.device_count(),), ("i",))
mine = np.full(4, jax.process_index(), np.float32)
xs = jax.make_array_from_process_local_data(
    jax.NamedSharding(mesh, P("i")), mine
)

print(xs)  # not a single number
with expect_error(RuntimeError, "non-addressable"):
    np.asarray(xs)

print("mine:", [float(s.data[0]) for s in xs.addressable_shards])
everywhere = jax.jit(lambda x: x, out_shardings=jax.NamedSharding(mesh, P()))
print("all: ", everywhere(xs))
