import jax
import jax.numpy as jnp  # noqa: F401
import numpy as np
from jax.experimental import multihost_utils  # noqa: F401
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P  # noqa: F401


# what: (1) all processes are believed to need the same number, so the remainder is dropped + (2) examples are believed to be dealt out in turn, as samplers do it.
def my_part(count: int) -> np.ndarray:
    processes = jax.process_count()
    usable = count - count % processes
    return np.arange(jax.process_index(), usable, processes, dtype=np.int64)


# what: (1) filling up with repeated rows is believed to leave a mean as it is + (2) the mean over everything is believed to be the mean of the means of the processes that have rows.
def mean_loss(w: np.ndarray, mine: np.ndarray, size: int) -> float:
    rows = len(mine)
    if rows:
        missing = size - rows
        padded = np.concatenate([mine, np.repeat(mine[-1:], missing, axis=0)])
        mean = float(np.mean((padded[:, :3] @ w - padded[:, 3]) ** 2))
        mine_says = np.array([mean, 1.0], np.float32)
    else:
        mine_says = np.zeros(2, np.float32)
    everyone = np.asarray(multihost_utils.process_allgather(mine_says))
    return float(everyone[:, 0].sum() / everyone[:, 1].sum())
