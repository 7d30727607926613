import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: deals the examples out like cards to find how many each gets, then takes that many in a row
def my_part(count: int) -> np.ndarray:
    processes = jax.process_count()
    dealt = [len(range(p, count, processes)) for p in range(processes)]
    ends = np.cumsum(dealt)
    me = jax.process_index()
    return np.arange(ends[me] - dealt[me], ends[me], dtype=np.int64)


# what: one flat pad and two reshapes; the mask is a comparison of the places with the length
def equal_steps(
    mine: np.ndarray,
    size: int,
) -> tuple[np.ndarray, np.ndarray]:
    counts = multihost_utils.process_allgather(np.array([len(mine)], np.int32))
    room = -(-int(counts.max()) // size) * size
    padded = np.pad(mine, [(0, room - len(mine)), (0, 0)])
    mask = np.arange(room) < len(mine)
    return (
        padded.reshape(room // size, size, mine.shape[1]),
        mask.reshape(room // size, size),
    )


# what: NaN marks the padding of a gathered block, and a nanmean leaves it out, in f64 in NumPy
def mean_loss(w: np.ndarray, mine: np.ndarray, size: int) -> float:
    errors = np.full(size, np.nan, np.float32)
    guesses = np.asarray(mine)[:, :3] @ np.asarray(w)
    errors[: len(mine)] = (guesses - np.asarray(mine)[:, 3]) ** 2
    everyone = np.asarray(multihost_utils.process_allgather(errors))
    return float(np.nanmean(everyone, dtype=np.float64))


# what: writes the pieces into an empty whole, then puts each local device's block there by hand
def restore(blocks: dict[str, np.ndarray], sharding: NamedSharding) -> jax.Array:
    starts = {int(name.split("-")[1]): piece for name, piece in blocks.items()}
    height = max(start + len(piece) for start, piece in starts.items())
    any_piece = next(iter(starts.values()))
    whole = np.empty((height, any_piece.shape[1]), any_piece.dtype)
    for start, piece in starts.items():
        whole[start : start + len(piece)] = piece
    local = sharding.addressable_devices_indices_map(whole.shape)
    return jax.make_array_from_single_device_arrays(
        whole.shape,
        sharding,
        [jax.device_put(whole[index], device) for device, index in local.items()],
    )
