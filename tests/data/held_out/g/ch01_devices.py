from collections.abc import Callable
from itertools import groupby
from typing import Any
import heapq

import jax
import jax.numpy as jnp


# what: Once the devices are sorted by id, those of one host are believed to stand next to each other, so one run of neighbours is taken for the whole host.
def devices_by_host(devices: list, platform: str) -> dict[int, list[int]]:
    wanted = [d for d in devices if d.platform == platform]
    wanted.sort(key=lambda d: d.id)
    return {
        host: [d.id for d in run]
        for host, run in groupby(wanted, key=lambda d: d.process_index)
    }


# what: Among equally full devices the one with the lowest id is taken, as if the devices in the list stood in the order of their ids.
def spread(arrays: list[jax.Array], devices: list) -> list[jax.Array]:
    by_id = {d.id: d for d in devices}
    heap = [(0, number) for number in by_id]
    heapq.heapify(heap)
    placed = []
    for a in arrays:
        used, number = heapq.heappop(heap)
        placed.append(jax.device_put(a, by_id[number]))
        heapq.heappush(heap, (used + a.nbytes, number))
    return placed


def _home(a):
    return next(iter(a.devices()))


# what: The move is decided pair by pair (the smaller of the running sum and the next array moves), as if this led to the same place as counting each device's bytes once for all.
def add_up(arrays: list[jax.Array]) -> jax.Array:
    places = {_home(a) for a in arrays if a.committed}
    total = arrays[0]
    if len(places) <= 1:
        for a in arrays[1:]:
            total = total + a
        return total
    for a in arrays[1:]:
        if total.committed and a.committed and _home(total) != _home(a):
            if a.nbytes > total.nbytes:
                total = jax.device_put(total, _home(a))
            else:
                a = jax.device_put(a, _home(total))
        total = total + a
    return total


# what: Under default_device an uncommitted argument is believed to be moved to that device by itself, so only committed arguments are put there.
def run_there(function: Callable, tree: Any, device: jax.Device) -> Any:
    def bring(leaf):
        if isinstance(leaf, jax.Array) and leaf.committed:
            return jax.device_put(leaf, device)
        return leaf

    moved = jax.tree.map(bring, tree)
    with jax.default_device(device):
        return function(moved)
