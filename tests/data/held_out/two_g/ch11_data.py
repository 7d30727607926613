import jax
import jax.numpy as jnp  # noqa: F401
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import NamedSharding  # noqa: F401
from jax.sharding import PartitionSpec as P  # noqa: F401


# what: (1) deals the examples out in turn, as a distributed sampler does, instead of in one stretch each + (2) believes that what does not divide evenly is to be dropped.
def my_part(count: int) -> np.ndarray:
    n = jax.process_count()
    usable = count - count % n
    return np.arange(jax.process_index(), usable, n, dtype=np.int64)


# what: (1) averages the processes' means, each with the same weight, also that of a process without rows + (2) believes that the mean squared error has the factor 1/2 that makes its gradient simple.
def mean_loss(w: np.ndarray, mine: np.ndarray, size: int) -> float:
    padded = np.zeros((size, 4), np.float32)
    padded[: len(mine)] = mine
    mask = (np.arange(size) < len(mine)).astype(np.float32)
    errors = (padded[:, :3] @ w - padded[:, 3]) ** 2 / 2
    own = (errors * mask).sum() / max(mask.sum(), 1.0)
    everyone = np.asarray(multihost_utils.process_allgather(np.float32(own)))
    return float(everyone.mean())
