import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils  # noqa: F401
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: hands all of its numbers to each of its devices, so that the sum over all devices counts them several times
def global_sum(mine: np.ndarray) -> float:
    mesh = Mesh(np.array(jax.devices()), ("x",))
    rows = np.tile(mine, (jax.local_device_count(), 1))
    everyone = jax.make_array_from_process_local_data(NamedSharding(mesh, P("x")), rows)
    total = jax.jit(jnp.sum, out_shardings=NamedSharding(mesh, P()))(everyone)
    return float(total.addressable_data(0))


# what: rounds to four decimals instead of printing four, so that zeros at the end are missing
def print_mean(xs: jax.Array) -> None:
    mean = jax.jit(jnp.mean)(xs)
    if jax.process_index() == 0:
        print("mean", round(float(mean), 4), flush=True)


# what: believes that a process can read a global array whole; it is spread over the processes
def gather_for_all(mine: np.ndarray) -> np.ndarray:
    devices = np.array(jax.devices()).reshape(jax.process_count(), -1)
    mesh = Mesh(devices, ("process", "device"))
    return jax.make_array_from_process_local_data(NamedSharding(mesh, P("process")), mine)
