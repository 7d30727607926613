"""A training of STEPS steps, half a second each; a step may take ten."""

import sys
import time

import jax
import numpy as np
from jax.experimental import multihost_utils

from lessons.ch14_launching.failing import LIMIT, limit
from minipod.cluster import launch_arguments

jax.distributed.initialize(**launch_arguments())
for step in range(int(sys.argv[1])):
    limit(LIMIT)
    multihost_utils.process_allgather(np.ones(2))
    print("step", step, flush=True)
    time.sleep(0.5)
limit(0)
