import jax
import jax.numpy as jnp  # noqa: F401
import numpy as np
from jax.experimental import multihost_utils  # noqa: F401


# what: Believes that every process numbers its own devices from 0, so that its ids are 0, 1, … up to its number of devices.
def who_am_i() -> dict[str, object]:
    own = [number for number, _ in enumerate(jax.local_devices())]
    return {
        "process": jax.process_index(),
        "processes": jax.process_count(),
        "mine": own,
        "everyone": len(jax.devices()),
    }


# what: Lets each device bring in the whole total of its process, so that every number is counted once for each device of the process.
def global_sum(mine: np.ndarray) -> float:
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("d",))
    along = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("d"))
    everywhere = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    subtotal = np.full(
        (jax.local_device_count(),), mine.sum(), dtype=np.float32
    )
    subtotals = jax.make_array_from_process_local_data(along, subtotal)
    total = jax.jit(jnp.sum, out_shardings=everywhere)(subtotals)
    return float(total)


# what: Thinks that process 0 can see the whole array in the shards that it can address, so it prints the mean of its own part.
def print_mean(xs: jax.Array) -> None:
    if jax.process_index() != 0:
        return
    seen = [np.asarray(shard.data) for shard in xs.addressable_shards]
    mean = np.concatenate(seen).mean()
    print(f"mean {mean:.4f}", flush=True)


# what: Sets the processes' arrays side by side and thinks that a reshape then puts them one below the other.
def gather_for_all(mine: np.ndarray) -> np.ndarray:
    stacked = np.asarray(multihost_utils.process_allgather(mine, tiled=False))
    processes = stacked.shape[0]
    rows, columns = mine.shape
    beside = np.concatenate([stacked[p] for p in range(processes)], axis=1)
    return beside.reshape(processes * rows, columns)
