import jax
import numpy as np
from jax import P

from minipod.cluster import launch_arguments
from minipod.expect import expect_error

jax.distributed.initialize(**launch_arguments())

mesh = jax.make_mesh((jax.device_count(),), ("i",))
cut = jax.NamedSharding(mesh, P("i"))
mine = np.full((8, 1), jax.process_index(), np.float32)

with expect_error(AssertionError, "not the same on each process"):
    jax.device_put(mine, cut)
print(jax.make_array_from_process_local_data(cut, mine).shape)
