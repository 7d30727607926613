import jax
import jax.numpy as jnp  # noqa: F401
import numpy as np
from jax.experimental import multihost_utils  # noqa: F401


# what: (1) takes jax.devices() for the process's own devices, while it lists those of all + (2) thinks that there is one process for each device, so the processes are as many as the devices.
def who_am_i() -> dict[str, object]:
    count = jax.device_count()
    ids = sorted(device.id for device in jax.devices())
    return dict(
        process=jax.process_index(),
        processes=count,
        mine=ids,
        everyone=count,
    )


# what: (1) thinks that JAX shows the output of process 0 only, so every process prints + (2) rounds to four decimals, which drops the zeros at the end.
def print_mean(xs: jax.Array) -> None:
    mean = float(jnp.mean(xs))
    print("mean", round(mean, 4))
