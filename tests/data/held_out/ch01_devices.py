import jax
import jax.numpy as jnp
from collections.abc import Callable
from itertools import groupby
from typing import Any


# what: Once the devices are sorted by id, those of one host are believed to stand next to each other, so one run of neighbours is taken for the whole host.
def devices_by_host(devices: list, platform: str) -> dict[int, list[int]]:
    wanted = [d for d in devices if d.platform == platform]
    wanted.sort(key=lambda d: d.id)
    return {
        host: [d.id for d in run]
        for host, run in groupby(wanted, key=lambda d: d.process_index)
    }


# what: Under default_device an uncommitted argument is believed to be moved to that device by itself, so only committed arguments are put there.
def run_there(function: Callable, tree: Any, device: jax.Device) -> Any:
    def bring(leaf):
        if isinstance(leaf, jax.Array) and leaf.committed:
            return jax.device_put(leaf, device)
        return leaf

    moved = jax.tree.map(bring, tree)
    with jax.default_device(device):
        return function(moved)


# what: counts elements instead of bytes + with equally full devices takes the last in the list
def spread(arrays: list[jax.Array], devices: list) -> list[jax.Array]:
    held = [0] * len(devices)
    placed = []
    for array in arrays:
        least = min(held)
        i = max(i for i, elements in enumerate(held) if elements == least)
        held[i] += array.size
        placed.append(jax.device_put(array, devices[i]))
    return placed


# what: (1) Every array's bytes count, whether it is committed or not + (2) among devices with equally many bytes the one with the lowest id wins.
def add_up(arrays: list[jax.Array]) -> jax.Array:
    def device_of(a):
        return next(iter(a.devices()))

    pinned = {device_of(a) for a in arrays if a.committed}
    if len(pinned) >= 2:
        loads = dict.fromkeys(pinned, 0)
        for a in arrays:
            if device_of(a) in loads:
                loads[device_of(a)] += a.nbytes
        best = min(loads, key=lambda dev: (-loads[dev], dev.id))
        arrays = jax.device_put(list(arrays), best)

    result, *others = arrays
    for other in others:
        result = jnp.add(result, other)
    return result
