import os
import signal
import time

import jax

from minipod.cluster import launch_arguments

jax.distributed.initialize(**launch_arguments(), heartbeat_timeout_seconds=10)
print("step 1 is done")
if jax.process_index() == 1:
    os.kill(os.getpid(), signal.SIGKILL)  # as the kernel does without memory
time.sleep(60)
print("step 2 is done")
