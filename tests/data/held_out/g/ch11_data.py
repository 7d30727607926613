import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P  # noqa: F401


# what: Believes that parts of the rounded-up length are even, though the last processes then get far fewer, or none.
def my_part(count: int) -> np.ndarray:
    me, everyone = jax.process_index(), jax.process_count()
    length = -(-count // everyone)
    begin = min(me * length, count)
    end = min(begin + length, count)
    return np.arange(begin, end, dtype=np.int64)


# what: Takes the number of steps from all rows over the global batch size, as if the rows were spread evenly over the processes.
def equal_steps(
    mine: np.ndarray,
    size: int,
) -> tuple[np.ndarray, np.ndarray]:
    rows = np.asarray(multihost_utils.process_allgather(np.int32(len(mine))))
    global_batch = size * jax.process_count()
    steps = -(-int(rows.sum()) // global_batch)
    kept = mine[: steps * size]
    batches = np.zeros((steps * size, mine.shape[1]), np.float32)
    batches[: len(kept)] = kept
    mask = np.arange(steps * size) < len(kept)
    return batches.reshape(steps, size, mine.shape[1]), mask.reshape(steps, size)


# what: Believes that padding with zeros is neutral in a mean because its error is 0, though it still counts in the number of rows.
def mean_loss(w: np.ndarray, mine: np.ndarray, size: int) -> float:
    short = size - len(mine)
    padded = np.pad(mine.astype(np.float32), ((0, short), (0, 0)))
    everyone = multihost_utils.process_allgather(padded, tiled=True)
    guess = jnp.dot(everyone[:, :3], w)
    errors = jnp.square(guess - everyone[:, 3])
    return float(jnp.mean(errors))


# what: Hands the whole array as this process's local data without a global shape, believing that JAX picks from it what each device needs.
def restore(
    blocks: dict[str, np.ndarray], sharding: NamedSharding
) -> jax.Array:
    def begin(name):
        return int(name.split("-")[1])

    pieces = [blocks[name] for name in sorted(blocks, key=begin)]
    whole = np.vstack(pieces)
    return jax.make_array_from_process_local_data(sharding, whole)
