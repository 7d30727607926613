import time

import jax
import numpy as np
from jax import P

from minipod.cluster import launch_arguments

jax.distributed.initialize(**launch_arguments())

mesh = jax.make_mesh((jax.device_count(),), ("i",))
cut = jax.NamedSharding(mesh, P("i"))
table = np.ones((1 << 20, 8), np.float32)  # 32 MiB, the same everywhere


def seconds(make):
    began = time.perf_counter()
    jax.block_until_ready(make())
    return time.perf_counter() - began


def on_demand():
    return jax.make_array_from_callback(table.shape, cut, table.__getitem__)


for _ in range(2):  # the first time compiles, too
    compared = seconds(lambda: jax.device_put(table, cut))
    asked = seconds(on_demand)
print(f"device_put {1000 * compared:.0f} ms, on demand {1000 * asked:.0f} ms")
