import jax
import jax.numpy as jnp  # noqa: F401
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P  # noqa: F401


# what: gives every process the rounded-up share until nothing is left: the last one may get much less
def my_part(count: int) -> np.ndarray:
    share = -(-count // jax.process_count())
    begin = min(jax.process_index() * share, count)
    end = min(begin + share, count)
    return np.arange(begin, end, dtype=np.int64)


# what: averages the processes' means, as if all processes with rows had equally many
def mean_loss(w: np.ndarray, mine: np.ndarray, size: int) -> float:
    errors = (mine[:, :3] @ w - mine[:, 3]) ** 2
    mean = errors.mean() if len(errors) else 0.0
    own = np.array([mean, len(errors) > 0], np.float32)
    everyone = multihost_utils.process_allgather(own)
    return float(everyone[:, 0].sum() / everyone[:, 1].sum())


# what: sorts the names as text, so that "rows-12" stands before "rows-4"
def restore(blocks: dict[str, np.ndarray], sharding: NamedSharding) -> jax.Array:
    whole = np.concatenate([blocks[name] for name in sorted(blocks)])
    return jax.make_array_from_callback(whole.shape, sharding, lambda index: whole[index])
