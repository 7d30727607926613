import jax
import numpy as np
from jax import P

from minipod.cluster import launch_arguments
from minipod.expect import expect_error

jax.distributed.initialize(**launch_arguments())

mesh = jax.make_mesh((jax.device_count(),), ("i",))
cut = jax.NamedSharding(mesh, P("i"))
mine = np.zeros((8, 2) if jax.process_index() == 0 else (4, 2))

xs = jax.make_array_from_process_local_data(cut, mine)
print("my array has the shape", xs.shape)

if len(mine) < 8:
    with expect_error(ValueError, "should match either global"):
        jax.make_array_from_process_local_data(cut, mine, (16, 2))
