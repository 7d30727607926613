from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp


# what: hosts without a device of the platform are listed too, with []
def devices_by_host(devices, platform):
    hosts = {d.process_index: [] for d in devices}
    for d in devices:
        if d.platform == platform:
            hosts[d.process_index].append(d.id)
    return {host: sorted(ids) for host, ids in hosts.items()}


# what: places the largest arrays first, to fill more evenly, not in order
def spread(arrays, devices):
    held = [0] * len(devices)
    placed = [None] * len(arrays)
    for i in sorted(range(len(arrays)), key=lambda i: -arrays[i].nbytes):
        least = held.index(min(held))
        held[least] += arrays[i].nbytes
        placed[i] = jax.device_put(arrays[i], devices[least])
    return placed


# what: leaves committed arguments where they are, since JAX moves them never
def run_there(function, tree, device):
    def move(leaf):
        return leaf if leaf.committed else jax.device_put(leaf, device)

    with jax.default_device(device):
        return function(jax.tree.map(move, tree))
