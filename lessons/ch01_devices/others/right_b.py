"""Right answers of ch01_devices, written a third way."""

import heapq

import jax


def spread(arrays, devices):
    heap = [(0, i) for i in range(len(devices))]
    placed = []
    for a in arrays:
        held, i = heapq.heappop(heap)
        placed.append(jax.device_put(a, devices[i]))
        heapq.heappush(heap, (held + a.nbytes, i))
    return placed


def run_there(function, tree, device):
    before = jax.config.jax_default_device
    jax.config.update("jax_default_device", device)
    try:
        return function(
            jax.tree.map(lambda leaf: jax.device_put(leaf, device), tree)
        )
    finally:
        jax.config.update("jax_default_device", before)
