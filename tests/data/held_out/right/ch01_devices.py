from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

import heapq
from itertools import groupby

from jax.sharding import SingleDeviceSharding


# what: sorts (host, id) pairs and groups them
def devices_by_host(devices, platform):
    pairs = sorted((d.process_index, d.id) for d in devices if d.platform == platform)
    groups = groupby(pairs, key=lambda pair: pair[0])
    return {host: [number for _, number in group] for host, group in groups}


# what: a heap of (bytes, place in the list)
def spread(arrays, devices):
    heap = [(0, place) for place in range(len(devices))]
    placed = []
    for array in arrays:
        held, place = heap[0]
        heapq.heapreplace(heap, (held + array.nbytes, place))
        placed.append(jax.device_put(array, devices[place]))
    return placed


# what: moves leaf by leaf with a SingleDeviceSharding
def run_there(function, tree, device):
    here = SingleDeviceSharding(device)
    moved = jax.tree.map(lambda leaf: jax.device_put(leaf, here), tree)
    with jax.default_device(device):
        return function(moved)
