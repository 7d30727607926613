from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from itertools import groupby


# what: groupby after sorting by id alone: of a host's runs only the last stays
def devices_by_host(devices, platform):
    mine = [d for d in devices if d.platform == platform]
    mine.sort(key=lambda d: d.id)
    runs = groupby(mine, key=lambda d: d.process_index)
    return {host: [d.id for d in run] for host, run in runs}


# what: of several equally full devices the one with the lowest id is taken
def spread(arrays, devices):
    held = {d: 0 for d in devices}
    placed = []
    for array in arrays:
        least = min(held, key=lambda d: (held[d], d.id))
        held[least] += array.nbytes
        placed.append(jax.device_put(array, least))
    return placed


# what: sets the default device of the whole process and never sets it back
def run_there(function, tree, device):
    jax.config.update("jax_default_device", device)
    return function(jax.device_put(tree, device))
