import os

import jax
import numpy as np
from jax import NamedSharding, P

from minipod.cluster import launch_arguments

mine = (3, 5)[int(os.environ["MINIPOD_PROCESS"])]  # our number, from run
jax.config.update("jax_num_cpu_devices", mine)
jax.distributed.initialize(**launch_arguments())

mesh = jax.make_mesh((jax.device_count(),), ("i",))
rows = np.ones((mine, 1), np.float32)  # one for each of my devices
xs = jax.make_array_from_process_local_data(
    NamedSharding(mesh, P("i")), rows, global_shape=(mesh.size, 1)
)
print(len(rows), "of", len(xs), "rows are mine; the sum is", xs.sum())
