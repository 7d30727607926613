from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp


# what: keys are the ranks of the hosts, not their numbers + ids as they come
def devices_by_host(devices, platform):
    mine = [d for d in devices if d.platform == platform]
    hosts = sorted({d.process_index for d in mine})
    return {rank: [d.id for d in mine if d.process_index == host] for rank, host in enumerate(hosts)}


# what: counts elements, not bytes + of equally full devices the last is taken
def spread(arrays, devices):
    held = [0] * len(devices)
    placed = []
    for array in arrays:
        least = 0
        for i, size in enumerate(held):
            if size <= held[least]:
                least = i
        held[least] += array.size
        placed.append(jax.device_put(array, devices[least]))
    return placed


# what: looks where the first leaf lies, not the others + no default device
def run_there(function, tree, device):
    if jax.tree.leaves(tree)[0].devices() != {device}:
        tree = jax.device_put(tree, device)
    return function(tree)
