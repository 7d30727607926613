import jax
import jax.numpy as jnp  # noqa: F401
import numpy as np
from jax.experimental import multihost_utils  # noqa: F401
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: device ids are believed to count through without gaps, process after process, so that a process can work out its own.
def who_am_i() -> dict[str, object]:
    me = jax.process_index()
    own = jax.local_device_count()
    return {
        "process": me,
        "processes": jax.process_count(),
        "mine": list(range(me * own, (me + 1) * own)),
        "everyone": jax.device_count(),
    }


# what: a global array with the spec P() is believed to join what the processes hand in, but each process just keeps its own numbers as "the copy".
def global_sum(mine: np.ndarray) -> float:
    mesh = Mesh(np.array(jax.devices()), ("x",))
    everyone = jax.make_array_from_process_local_data(
        NamedSharding(mesh, P()), mine
    )
    total = jax.jit(jnp.sum)(everyone)
    return float(total)


# what: the shards that process 0 can read are believed to be the whole array.
def print_mean(xs: jax.Array) -> None:
    parts = [np.asarray(shard.data) for shard in xs.addressable_shards]
    mean = float(np.concatenate(parts).mean())
    if jax.process_index() == 0:
        print(f"mean {mean:.4f}")


# what: zeros are believed to vanish beside real numbers when the processes' buffers are joined with the largest value, which loses negative numbers.
def gather_for_all(mine: np.ndarray) -> np.ndarray:
    rows, columns = mine.shape
    start = jax.process_index() * rows
    buffer = np.zeros((jax.process_count() * rows, columns), mine.dtype)
    buffer[start : start + rows] = mine
    everyone = multihost_utils.process_allgather(buffer)
    return np.asarray(everyone).max(axis=0)
