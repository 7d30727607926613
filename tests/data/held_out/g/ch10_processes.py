import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: Believes that jax.devices() lists the devices of this process only, as it does in a program of one process.
def who_am_i() -> dict[str, object]:
    own = sorted(device.id for device in jax.devices())
    answer = {
        "process": jax.process_index(),
        "processes": jax.process_count(),
        "mine": own,
        "everyone": jax.device_count(),
    }
    return answer


# what: Believes that a global array with the replicated layout P() joins the processes' different numbers, where it only declares them to be equal.
def global_sum(mine: np.ndarray) -> float:
    mesh = Mesh(np.array(jax.devices()), ("all",))
    everywhere = NamedSharding(mesh, P())
    joined = jax.make_array_from_process_local_data(everywhere, mine)
    total = jax.jit(jnp.sum)(joined)
    return float(total)


# what: Believes that the shards that process 0 can address are enough for the mean, so prints the mean of its own part.
def print_mean(xs: jax.Array) -> None:
    pieces = [np.asarray(shard.data) for shard in xs.addressable_shards]
    mean = np.concatenate(pieces).mean()
    if jax.process_index() == 0:
        print(f"mean {mean:.4f}", flush=True)


# what: Believes that the k-th call of broadcast_one_to_all sends the rows of process k, where each call sends those of process 0.
def gather_for_all(mine: np.ndarray) -> np.ndarray:
    blocks = []
    for _ in range(jax.process_count()):
        blocks.append(np.asarray(multihost_utils.broadcast_one_to_all(mine)))
    return np.concatenate(blocks, axis=0)
