import time

import jax
import numpy as np
from jax import NamedSharding, P

from minipod.cluster import launch_arguments

jax.distributed.initialize(**launch_arguments())
mesh = jax.make_mesh((jax.device_count(),), ("i",))
cut = NamedSharding(mesh, P("i"))
mean = jax.jit(
    jax.shard_map(
        lambda g: jax.lax.pmean(g, "i"),
        mesh=mesh,
        in_specs=P("i"),
        out_specs=P(),
    )
)


def seconds(count, size):
    mine = np.ones((jax.local_device_count(), size), np.float32)
    gradients = [
        jax.make_array_from_process_local_data(cut, mine) for _ in range(count)
    ]
    for _ in range(2):  # the first time compiles
        began = time.perf_counter()
        for g in gradients:
            mean(g).block_until_ready()
    return time.perf_counter() - began


many, one = seconds(8, 64), seconds(1, 8 * 64)
if jax.process_index() == 0:
    print(f"eight small sums: {many / one:.1f} times as long as one of all")
