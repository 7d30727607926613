import jax
import jax.numpy as jnp  # noqa: F401
import numpy as np
from jax.experimental import multihost_utils  # noqa: F401


# what: (1) device ids are believed to count through without gaps, process after process + (2) `device_count` is believed to count this process's devices only, so it is multiplied by the processes.
def who_am_i() -> dict[str, object]:
    me = jax.process_index()
    own = len(jax.local_devices())
    return {
        "process": me,
        "processes": jax.process_count(),
        "mine": [me * own + i for i in range(own)],
        "everyone": jax.device_count() * jax.process_count(),
    }


# what: (1) the shards that a process can read are believed to be the whole array + (2) the first of `jax.devices()` is believed to be the process's own, so every process takes itself for process 0.
def print_mean(xs: jax.Array) -> None:
    total, count = 0.0, 0
    for shard in xs.addressable_shards:
        total += float(np.asarray(shard.data).sum())
        count += shard.data.size
    if jax.devices()[0].process_index == 0:
        print(f"mean {total / count:.4f}")
