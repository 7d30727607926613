import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: device ids count through from process to process, so a process can work its own out
def who_am_i() -> dict[str, object]:
    me = jax.process_index()
    each = jax.local_device_count()
    return {
        "process": me,
        "processes": jax.process_count(),
        "mine": list(range(me * each, (me + 1) * each)),
        "everyone": jax.device_count(),
    }


# what: P() makes "one global array that all share" of the parts; it declares each part to be the whole
def global_sum(mine: np.ndarray) -> float:
    mesh = Mesh(np.array(jax.devices()), ("x",))
    everyone = jax.make_array_from_process_local_data(NamedSharding(mesh, P()), mine)
    return float(jnp.sum(everyone))


# what: the shards that process 0 can reach are all of the array
def print_mean(xs: jax.Array) -> None:
    if jax.process_index() == 0:
        numbers = np.concatenate([np.asarray(shard.data) for shard in xs.addressable_shards])
        print(f"mean {numbers.mean():.4f}")


# what: the rows of a process always divide over its devices
def gather_for_all(mine: np.ndarray) -> np.ndarray:
    mesh = Mesh(np.array(jax.devices()), ("x",))
    everyone = jax.make_array_from_process_local_data(NamedSharding(mesh, P("x", None)), mine)
    return np.asarray(multihost_utils.process_allgather(everyone, tiled=True))
