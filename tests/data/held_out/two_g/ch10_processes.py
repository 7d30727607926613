import jax
import jax.numpy as jnp  # noqa: F401
import numpy as np
from jax.experimental import multihost_utils  # noqa: F401


# what: (1) believes that device ids start at 0 in each process + (2) believes that device_count counts only a process's own devices, so multiplies it by the processes.
def who_am_i() -> dict[str, object]:
    processes = jax.process_count()
    return {
        "process": jax.process_index(),
        "processes": processes,
        "mine": list(range(jax.local_device_count())),
        "everyone": processes * jax.device_count(),
    }


# what: (1) believes that addressable_data(0) is the whole array, where it is the part of one device + (2) believes that the launcher shows only the output of process 0, so lets every process print.
def print_mean(xs: jax.Array) -> None:
    values = np.asarray(xs.addressable_data(0), dtype=np.float64)
    line = "mean {:.4f}".format(values.mean())
    print(line, flush=True)
