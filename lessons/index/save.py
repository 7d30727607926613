import jax
from jax.experimental import multihost_utils

from minipod.cluster import launch_arguments

jax.distributed.initialize(**launch_arguments())
print("step 1 is done")
if jax.process_index() == 0:  # one copy of the file is enough
    multihost_utils.sync_global_devices("saved")
