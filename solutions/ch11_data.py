"""ch11_data, solved."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def my_part(count: int) -> np.ndarray:
    parts = np.array_split(np.arange(count), jax.process_count())
    return parts[jax.process_index()]


def equal_steps(
    mine: np.ndarray,
    size: int,
) -> tuple[np.ndarray, np.ndarray]:
    mine_only = np.array([len(mine)])
    rows = multihost_utils.process_allgather(mine_only, tiled=True)
    steps = -(-int(rows.max()) // size)
    mask = np.arange(steps * size).reshape(steps, size) < len(mine)
    batches = np.zeros((steps, size, mine.shape[1]), mine.dtype)
    batches[mask] = mine
    return batches, mask


def mean_loss(w: np.ndarray, mine: np.ndarray, size: int) -> float:
    mask = np.arange(size) < len(mine)
    padded = np.zeros((size, 4), np.float32)
    padded[mask] = mine
    mesh = jax.make_mesh((jax.device_count(),), ("i",))
    cut = NamedSharding(mesh, P("i"))
    x, mask = jax.make_array_from_process_local_data(cut, (padded, mask))
    squares = (x[:, :3] @ w - x[:, 3]) ** 2
    return float(jnp.sum(squares, where=mask) / jnp.sum(mask))


def restore(
    blocks: dict[str, np.ndarray], sharding: NamedSharding
) -> jax.Array:
    in_order = sorted(blocks, key=lambda name: int(name.split("-")[1]))
    whole = np.concatenate([blocks[name] for name in in_order])
    return jax.make_array_from_callback(
        whole.shape, sharding, lambda index: whole[index]
    )
