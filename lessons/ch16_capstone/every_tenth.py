import faults
import jax
import numpy as np
from jax.experimental import multihost_utils

from minipod.cluster import launch_arguments

jax.distributed.initialize(**launch_arguments())

for step in range(1, 1001):
    faults.before(step)
    multihost_utils.process_allgather(np.array([step]))
    if step % 10 == 0:  # "that is often enough"
        if multihost_utils.reached_preemption_sync_point(step):
            print("told to go after step", step)
            break
print("ends after step", step)
