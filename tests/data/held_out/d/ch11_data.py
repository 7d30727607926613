import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: everyone gets the rounded-up share until there is nothing left, so the last may lack more than one
def my_part(count: int) -> np.ndarray:
    share = -(-count // jax.process_count())
    start = min(count, jax.process_index() * share)
    stop = min(count, start + share)
    return np.arange(start, stop, dtype=np.int64)


# what: spreads its rows evenly over the common steps instead of filling one batch after the other
def equal_steps(
    mine: np.ndarray,
    size: int,
) -> tuple[np.ndarray, np.ndarray]:
    lengths = multihost_utils.process_allgather(np.int32(len(mine)))
    steps = -(-int(np.max(lengths)) // size)
    batches = np.zeros((steps, size, mine.shape[1]), mine.dtype)
    mask = np.zeros((steps, size), bool)
    if steps:
        for step, rows in enumerate(np.array_split(mine, steps)):
            batches[step, : len(rows)] = rows
            mask[step, : len(rows)] = True
    return batches, mask


# what: hands in the whole as if it were this process's part of it
def restore(blocks: dict[str, np.ndarray], sharding: NamedSharding) -> jax.Array:
    names = sorted(blocks, key=lambda name: int(name.removeprefix("rows-")))
    whole = np.concatenate([blocks[name] for name in names])
    return jax.make_array_from_process_local_data(sharding, whole)
