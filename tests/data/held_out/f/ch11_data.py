import jax
import jax.numpy as jnp  # noqa: F401
import numpy as np
from jax.experimental import multihost_utils  # noqa: F401
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P  # noqa: F401


# what: Gives each process the quotient rounded up and the last ones what is left, which can make the parts differ by more than one.
def my_part(count: int) -> np.ndarray:
    me, everyone = jax.process_index(), jax.process_count()
    share = -(-count // everyone)
    start = min(me * share, count)
    stop = min(start + share, count)
    return np.arange(start, stop, dtype=np.int64)


# what: Finds the padding by its zeros, so a real row that holds only zeros is masked out as padding.
def equal_steps(
    mine: np.ndarray,
    size: int,
) -> tuple[np.ndarray, np.ndarray]:
    needed = np.int32(-(-mine.shape[0] // size))
    steps = int(np.max(multihost_utils.process_allgather(needed)))
    room = steps * size
    filled = np.pad(mine, ((0, room - mine.shape[0]), (0, 0)))
    batches = filled.reshape(steps, size, mine.shape[1])
    mask = np.any(batches != 0, axis=-1)
    return batches, mask


# what: Averages the means of the processes that have rows, as if all of them had equally many.
def mean_loss(w: np.ndarray, mine: np.ndarray, size: int) -> float:
    inputs, wanted = mine[:, :3], mine[:, 3]
    errors = np.square(inputs @ w - wanted)
    present = len(errors) > 0
    report = np.array(
        [errors.mean() if present else 0.0, float(present)], dtype=np.float32
    )
    reports = np.asarray(multihost_utils.process_allgather(report))
    return float(reports[:, 0].sum() / reports[:, 1].sum())


# what: Sorts the names as text, so that "rows-12" comes before "rows-4".
def restore(
    blocks: dict[str, np.ndarray], sharding: NamedSharding
) -> jax.Array:
    whole = np.vstack([block for _, block in sorted(
        blocks.items(), key=lambda item: item[0]
    )])

    def piece(index):
        return whole[index]

    return jax.make_array_from_callback(whole.shape, sharding, piece)
