import jax
import jax.numpy as jnp  # noqa: F401
import numpy as np
from jax.experimental import multihost_utils  # noqa: F401


# what: numbers its own devices from 0 instead of asking for their ids + gives its own number of devices for everyone's
def who_am_i() -> dict[str, object]:
    return {
        "process": jax.process_index(),
        "processes": jax.process_count(),
        "mine": list(range(jax.local_device_count())),
        "everyone": len(jax.local_devices()),
    }


# what: averages only the shards of process 0's own devices + prints four significant digits, not four decimals
def print_mean(xs: jax.Array) -> None:
    mine = np.concatenate([np.asarray(s.data) for s in xs.addressable_shards])
    if jax.process_index() == 0:
        print(f"mean {mine.mean():.4}", flush=True)
