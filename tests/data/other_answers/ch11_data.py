"""Other answers to the exercises of ch11_data: right ones, known mistakes, and other wrong ones."""

import jax
import numpy as np
from jax.experimental import multihost_utils


def mean_loss__right(w, mine, size):
    wrong = mine[:, :3] @ w - mine[:, 3]
    facts = multihost_utils.process_allgather(np.array([wrong @ wrong, len(mine)], np.float32))
    total, count = facts.sum(axis=0)
    return float(total / count)


def restore__right(blocks, sharding):
    height, width = sum(map(len, blocks.values())), next(iter(blocks.values())).shape[1]
    whole = np.empty((height, width), np.float32)
    for name, block in blocks.items():
        first = int(name[5:])
        whole[first : first + len(block)] = block
    return jax.device_put(whole, sharding)
