import jax
import numpy as np
from jax.experimental import multihost_utils

from minipod.cluster import launch_arguments

jax.distributed.initialize(**launch_arguments())

stamp = np.int64(1_700_000_000_123_456_789)  # nanoseconds since 1970
print("sent     ", stamp)
print("received ", multihost_utils.broadcast_one_to_all(stamp))

halves = np.array([stamp >> 32, stamp & 0xFFFFFFFF], np.uint32)
high, low = map(int, multihost_utils.broadcast_one_to_all(halves))
print("in halves", high << 32 | low)
