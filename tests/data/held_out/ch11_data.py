import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


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


# what: Makes the array of a list, which is f64 where the list is empty.
def my_part(count: int) -> np.ndarray:
    me, n = jax.process_index(), jax.process_count()
    least, more = divmod(count, n)
    first = me * least + min(me, more)
    return np.array([first + i for i in range(least + (me < more))])


# what: Sorts the names as words, so 12 is before 4 + leaves columns whole.
def restore(blocks: dict[str, np.ndarray], sharding: NamedSharding) -> jax.Array:
    whole = np.concatenate([blocks[name] for name in sorted(blocks)])
    rows = NamedSharding(sharding.mesh, P(sharding.spec[0]))
    return jax.device_put(whole, rows)
