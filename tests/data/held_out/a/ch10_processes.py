import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils


# what: Gives the process's sum to each local device: psum counts it for each.
def global_sum(mine: np.ndarray) -> float:
    own = jnp.full((jax.local_device_count(),), mine.sum())
    total = jax.pmap(lambda x: jax.lax.psum(x, "i"), axis_name="i")(own)
    return float(total.addressable_shards[0].data[0])


# what: Process 0 prints the mean of the shards that it can read.
def print_mean(xs: jax.Array) -> None:
    if jax.process_index() == 0:
        own = np.concatenate([s.data for s in xs.addressable_shards])
        print(f"mean {own.mean():.4f}")


# what: Cuts rows over all devices: fails unless they divide by the local ones.
def gather_for_all(mine: np.ndarray) -> np.ndarray:
    mesh = jax.make_mesh((jax.device_count(),), ("i",))
    rows = jax.NamedSharding(mesh, jax.P("i"))
    whole = jax.make_array_from_process_local_data(rows, mine)
    whole = jax.reshard(whole, jax.NamedSharding(mesh, jax.P()))
    return np.asarray(whole.addressable_data(0))
