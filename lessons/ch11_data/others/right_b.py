"""Right, written another way again: example by example, with shard_map, and by taking one's own rows of the whole."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def my_part(count):
    here = jax.process_index()
    sizes = [
        len(range(p, count, jax.process_count()))
        for p in range(jax.process_count())
    ]
    return np.array(range(sum(sizes[:here]), sum(sizes[: here + 1])), int)


def equal_steps(mine, size):
    mesh = jax.make_mesh((jax.device_count(),), ("i",))
    counts = np.full(jax.local_device_count(), len(mine), np.int32)
    counts = jax.make_array_from_process_local_data(
        NamedSharding(mesh, P("i")), counts
    )
    most = int(jnp.max(counts))
    padded = np.zeros((most + -most % size, mine.shape[1]), mine.dtype)
    padded[: len(mine)] = mine
    mask = np.array([i < len(mine) for i in range(len(padded))])
    return padded.reshape(-1, size, mine.shape[1]), mask.reshape(-1, size)


def mean_loss(w, mine, size):
    mesh = jax.make_mesh((jax.device_count(),), ("i",))
    padded = np.full((size, 4), np.nan, np.float32)
    padded[: len(mine)] = mine

    def device(rows):
        squares = (rows[:, :3] @ w - rows[:, 3]) ** 2
        there = ~jnp.isnan(rows[:, 0])
        sums = jnp.array([jnp.where(there, squares, 0).sum(), there.sum()])
        total, count = jax.lax.psum(sums, "i")
        return total / count

    rows = jax.make_array_from_process_local_data(
        NamedSharding(mesh, P("i")), padded
    )
    return float(
        jax.shard_map(device, mesh=mesh, in_specs=P("i"), out_specs=P())(rows)
    )


def restore(blocks, sharding):
    pieces = sorted(
        (int(name.split("-")[1]), block) for name, block in blocks.items()
    )
    whole = np.vstack([block for _, block in pieces])
    mine = [
        jax.device_put(whole[index], device)
        for device, index in sharding.addressable_devices_indices_map(
            whole.shape
        ).items()
    ]
    return jax.make_array_from_single_device_arrays(whole.shape, sharding, mine)
