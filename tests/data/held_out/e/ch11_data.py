import jax
import jax.numpy as jnp  # noqa: F401
import numpy as np
from jax.experimental import multihost_utils  # noqa: F401
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P  # noqa: F401


# what: equal shares are believed to come from rounding up, with the rest for the last process, which may get far fewer.
def my_part(count: int) -> np.ndarray:
    share = -(-count // jax.process_count())
    start = min(jax.process_index() * share, count)
    stop = min(start + share, count)
    return np.arange(start, stop, dtype=np.int64)


# what: the number of steps is believed to be all rows divided by the global batch, as if the rows were spread evenly over the processes.
def equal_steps(
    mine: np.ndarray,
    size: int,
) -> tuple[np.ndarray, np.ndarray]:
    rows, columns = mine.shape
    counts = multihost_utils.process_allgather(np.int32(rows))
    steps = int(-(-int(np.sum(counts)) // (size * jax.process_count())))
    kept = min(rows, steps * size)
    flat = np.zeros((steps * size, columns), np.float32)
    flat[:kept] = mine[:kept]
    mask = np.arange(steps * size) < kept
    return flat.reshape(steps, size, columns), mask.reshape(steps, size)


# what: filling up a batch by repeating its own rows is believed to leave the mean as it is, as samplers do it.
def mean_loss(w: np.ndarray, mine: np.ndarray, size: int) -> float:
    rows = mine.shape[0]
    if rows:
        padded = np.resize(mine, (size, 4))
        count = size
    else:
        padded = np.zeros((size, 4), np.float32)
        count = 0
    errors = (padded[:, :3] @ w - padded[:, 3]) ** 2
    pair = np.array([errors.sum() if rows else 0.0, count], np.float32)
    total, number = np.asarray(multihost_utils.process_allgather(pair)).sum(axis=0)
    return float(total / number)


# what: data that every process holds in full is believed to be handed over like a process's own part, so the global array comes out too large.
def restore(
    blocks: dict[str, np.ndarray], sharding: NamedSharding
) -> jax.Array:
    names = sorted(blocks, key=lambda name: int(name.rsplit("-", 1)[1]))
    whole = np.concatenate([blocks[name] for name in names])
    return jax.make_array_from_process_local_data(sharding, whole)
