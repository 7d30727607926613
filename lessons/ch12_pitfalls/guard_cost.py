import time

import jax
import numpy as np
from together import everyone, me, total

from minipod.guard import watched


def seconds(function):
    start = time.perf_counter()
    jax.block_until_ready(function(xs))
    return time.perf_counter() - start


rows = np.ones((jax.local_device_count(), 250_000))
xs = everyone(rows)  # one million bytes a device
with_guard = watched(total, "total")
seconds(total), seconds(with_guard)  # compiling is not counted
pairs = [(seconds(total), seconds(with_guard)) for _ in range(50)]
plain, guarded = np.median(pairs, axis=0) * 1000
if me == 0:
    print(f"a sum: {plain:.1f} ms; watched: {guarded:.1f} ms")
