import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


# what: Rounds evenly spaced borders down: the last parts are the larger ones.
def my_part(count: int) -> np.ndarray:
    me, n = jax.process_index(), jax.process_count()
    return np.arange(me * count // n, (me + 1) * count // n)


# what: Always adds one more step, also where the rows fill the last batch.
def equal_steps(
    mine: np.ndarray,
    size: int,
) -> tuple[np.ndarray, np.ndarray]:
    rows = multihost_utils.process_allgather(np.int32(len(mine)))
    steps = int(rows.max()) // size + 1
    batches = np.zeros((steps * size, mine.shape[1]), mine.dtype)
    batches[: len(mine)] = mine
    mask = np.arange(steps * size) < len(mine)
    shape = steps, size, mine.shape[1]
    return batches.reshape(shape), mask.reshape(steps, size)


# what: Averages the means of the processes that have rows.
def mean_loss(w: np.ndarray, mine: np.ndarray, size: int) -> float:
    wrong = mine[:, :3] @ w - mine[:, 3]
    own = np.mean(wrong**2) if len(mine) else np.float32(np.nan)
    return float(np.nanmean(multihost_utils.process_allgather(own)))


# what: Hands in the whole as if it were this process's part of it.
def restore(blocks: dict[str, np.ndarray], sharding: NamedSharding) -> jax.Array:
    names = sorted(blocks, key=lambda name: int(name.split("-")[1]))
    whole = np.concatenate([blocks[name] for name in names])
    return jax.make_array_from_process_local_data(sharding, whole)
