import time

import jax
import numpy as np
from jax.experimental import multihost_utils

from minipod.cluster import launch_arguments

jax.distributed.initialize(**launch_arguments())

me = jax.process_index()
gather = multihost_utils.process_allgather
rows = np.array([10 * (me + 1)])
print("stacked", gather(rows).tolist(), "tiled", gather(rows, tiled=True))
print("a bare number, tiled:", gather(np.int32(me), tiled=True).shape)

now = np.int32(time.time() + me)  # clocks differ
agreed = multihost_utils.broadcast_one_to_all(now)
print("process 0's clock is mine:", bool(agreed == now))
