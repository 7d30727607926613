"""Right, written another way: sums instead of splits, everybody's sums gathered, random numbers given out_sharding."""

import math

import jax
import numpy as np
from jax.experimental import multihost_utils


def my_part(count):
    me, processes = jax.process_index(), jax.process_count()
    each, rest = divmod(count, processes)
    first = me * each + min(me, rest)
    return np.arange(first, first + each + (me < rest))


def equal_steps(mine, size):
    steps = math.ceil(len(mine) / size)
    steps = int(np.max(multihost_utils.process_allgather(np.int32(steps))))
    left = steps * size - len(mine)
    batches = np.pad(mine, ((0, left), (0, 0))).reshape(steps, size, -1)
    return batches, np.repeat([True, False], [len(mine), left]).reshape(
        steps, size
    )


def mean_loss(w, mine, size):
    wrong = mine[:, :3] @ w - mine[:, 3]
    facts = multihost_utils.process_allgather(
        np.array([wrong @ wrong, len(mine)], np.float32)
    )
    total, count = facts.sum(axis=0)
    return float(total / count)


def restore(blocks, sharding):
    height, width = (
        sum(map(len, blocks.values())),
        next(iter(blocks.values())).shape[1],
    )
    whole = np.empty((height, width), np.float32)
    for name, block in blocks.items():
        first = int(name[5:])
        whole[first : first + len(block)] = block
    return jax.device_put(whole, sharding)
